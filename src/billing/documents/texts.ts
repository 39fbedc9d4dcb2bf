/** Texts of documents by language: files of the node, which files of the operator replace. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { LineCounter, parseDocument } from 'yaml'
import { TemplateError } from './errors.ts'

/** Templates and texts of the node. */
export const OWN_FOLDER = fileURLToPath(new URL('../../../config/invoices', import.meta.url))

const FALLBACK = 'en'

export type Texts = Readonly<Record<string, string>>

/** The language of one document. */
export interface Language {
  /** As `Intl` takes it. */
  readonly locale: string
  readonly isRightToLeft: boolean
  readonly texts: Texts
}

const RIGHT_TO_LEFT = new Set(['ar', 'dv', 'fa', 'he', 'ku', 'ps', 'sd', 'ug', 'ur', 'yi'])

/**
 * The first of the preferred languages, such as `de_AT` or `de-AT`, that has texts; otherwise
 * English. `folder`: templates of the operator, or empty. Throws `TemplateError` for a file that
 * cannot be used.
 */
export async function languageOf(
  preferred: readonly (string | undefined)[],
  folder: string,
): Promise<Language> {
  const english = await textsOf(FALLBACK, folder)
  for (const name of preferred) {
    const locale = localeOf(name)
    if (locale === null) continue
    const { language } = locale
    for (const file of new Set([locale.baseName, language])) {
      const texts = await textsOf(file, folder)
      if (texts === null) continue
      const isRightToLeft = RIGHT_TO_LEFT.has(language)
      return { locale: locale.baseName, isRightToLeft, texts: { ...english, ...texts } }
    }
  }
  return { locale: 'en-GB', isRightToLeft: false, texts: english ?? {} }
}

/** Null for a text that names no language. */
export function localeOf(name: string | undefined): Intl.Locale | null {
  if (name === undefined || name === '') return null
  try {
    return new Intl.Locale(name.replaceAll('_', '-'))
  } catch {
    return null
  }
}

/** Null if no file has the language. */
async function textsOf(language: string, folder: string): Promise<Texts | null> {
  const own = await readTexts(join(OWN_FOLDER, 'texts', `${language}.yaml`))
  const others = folder === '' ? null : await readTexts(join(folder, 'texts', `${language}.yaml`))
  return own === null ? others : { ...own, ...others }
}

async function readTexts(file: string): Promise<Texts | null> {
  let content: string
  try {
    content = await readFile(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw new TemplateError(`${file} cannot be read: ${(error as Error).message}`, 'refused')
  }
  const lineCounter = new LineCounter()
  const document = parseDocument(content, { prettyErrors: false, lineCounter })
  const [problem] = document.errors
  if (problem !== undefined) {
    const { line } = lineCounter.linePos(problem.pos[0])
    throw new TemplateError(`${file}, line ${line}: ${problem.message}`, 'refused')
  }
  const found: unknown = document.toJS() ?? {}
  if (typeof found !== 'object' || found === null || Array.isArray(found)) {
    throw new TemplateError(`${file}: must be an object of texts`, 'refused')
  }
  for (const [name, text] of Object.entries(found)) {
    if (typeof text !== 'string')
      throw new TemplateError(`${file}: ${name} must be a text`, 'refused')
  }
  return found as Texts
}
