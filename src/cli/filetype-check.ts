/** `tollgate filetype check`: decodes a message by a document; no store is needed. */
import { loadConfig } from '../config/load.ts'
import type { CheckReport, CheckStep } from '../file-types/check-report.ts'
import { print, stopWithoutReader } from '../runtime/terminal.ts'
import { readBytes, readDocument } from './document-file.ts'
import { UsageError } from './errors.ts'
import { type OptionValues, requiredText } from './parse.ts'
import type { Tools } from './tools.ts'

/**
 * Returns 1 if the document or the message cannot be used. Throws `UsageError` or `CommandError`.
 */
export async function checkFileType(
  source: string,
  options: OptionValues,
  file: string | undefined,
  tools: Tools,
): Promise<0 | 1> {
  stopWithoutReader()
  const sample = requiredText(options, 'sample')
  if (source === '-' && sample === '-') {
    throw new UsageError('filetype check: only one of FILE and --sample can be standard input')
  }
  const config = loadConfig(file === undefined ? {} : { file })
  const document = await readDocument(source)
  const report = await tools.checkFileType(document, await readBytes(sample), config)
  if (options['json'] === true) print(JSON.stringify(report))
  else for (const line of reportText(report)) print(line)
  return report.ok ? 0 : 1
}

function reportText({ steps }: CheckReport): string[] {
  return steps.flatMap(({ step, ok, result }: CheckStep) => {
    const lines = treeText(result, 1)
    return [`${step}${ok ? '' : ': not usable'}`, ...lines]
  })
}

const PLAIN_NAME = /^[\w.:@-]+$/

/** Formats data as an indented tree with one line per value. */
function treeText(value: unknown, depth: number): string[] {
  const indent = '  '.repeat(depth)
  if (typeof value === 'string') return value.split('\n').map((line) => `${indent}${line}`)
  if (typeof value !== 'object' || value === null) return [`${indent}${String(value)}`]
  return Object.entries(value).flatMap(([key, member]) => {
    // Names come from the message and may contain control characters.
    const name = PLAIN_NAME.test(key) ? key : JSON.stringify(key)
    const isNested = typeof member === 'object' && member !== null
    if (isNested && Object.keys(member).length > 0) {
      return [`${indent}${name}`, ...treeText(member, depth + 1)]
    }
    return [`${indent}${name}: ${JSON.stringify(member)}`]
  })
}
