/** Official rules and examples of EN 16931 beside the project, which are not part of it. */
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'

/** Places beside a clone, and beside a worktree of it. */
const FOLDERS = ['../../../../shared', '../../../../../shared'].map((path) =>
  fileURLToPath(new URL(`${path}/samples/en16931/`, import.meta.url)),
)
const FOLDER = FOLDERS.find((folder) => existsSync(folder)) ?? ''
const RULES = 'EN16931-UBL-validation-preprocessed.sch'

/** Added to names of skipped tests. */
export const whyNoRules = FOLDER === '' ? ' (skipped: no folder ../shared)' : ''

/** The text of an example. */
export function example(name: string): string {
  return readFileSync(FOLDER + name, 'utf8')
}

/**
 * Text of the rules. `node-schematron` evaluates a context in each node of the document, so that an
 * absolute one, `//A` or `/A/B`, costs the square of its size: these are given as relative ones
 * that select the same nodes.
 */
export function rules(): string {
  return example(RULES).replace(/(?<=<rule context=")[^"]+/g, (context) =>
    context.replace(
      /(^| \| )\/(?:\/|([\w*:]+))/g,
      (_, before: string, root: string | undefined) => {
        return root === undefined ? before : `${before}${root}[not(parent::*)]`
      },
    ),
  )
}

/** The used part: its own types would add those of browsers to the whole project. */
interface Schematron {
  readonly Schema: {
    fromString(rules: string): {
      validateString(xml: string): readonly {
        readonly assertId: string | null
        readonly message?: string
      }[]
    }
  }
}

/** A function that returns the broken rules of a document, such as `BR-06: …`. */
export function schematron(): (xml: string) => readonly string[] {
  const { Schema }: Schematron = createRequire(import.meta.url)('node-schematron')
  const schema = Schema.fromString(rules())
  return (xml) =>
    schema.validateString(xml).map(({ assertId, message }) => `${assertId}: ${message}`)
}
