/**
 * A file with one case per line, read and answered line by line to bound memory; or JSON documents
 * over several lines, each of which is a case or an array of cases.
 */
import { createReadStream } from 'node:fs'
import {
  brokenCase,
  type QuoteResult,
  quoteCase,
  quoteLine,
} from '../../billing/quote/quote-case.ts'
import type { QuoteSettings } from '../../billing/quote/settings.ts'
import { CommandError } from '../errors.ts'
import type { Shell } from '../shell.ts'

/** Bytes of one line; a case with a catalogue of 100,000 rates has 30 million. */
const LINE_BYTES_MAX = 2 ** 27
const LINE_FEED = 10

/**
 * Prints one line per case, in order; `file` `-` is standard input. Returns 1 if a case is invalid
 * or not as expected. Throws `CommandError` if the file cannot be read.
 */
export async function quoteCases(
  shell: Shell,
  file: string,
  settings: QuoteSettings,
): Promise<0 | 1> {
  const bytes = file === '-' ? shell.input : createReadStream(file)
  let cases = 0
  let failed = 0
  for await (const quoted of quotesOf(linesOf(bytes, file), settings)) {
    cases += 1
    if (quoted.ok === false) failed += 1
    shell.print(quoteLine(quoted))
  }
  if (failed === 0) return 0
  shell.printError(`tollgate: ${failed} of ${cases} cases are broken or not as expected`)
  return 1
}

/** Lines that do not begin with a case may be documents; if they are not, they are lines. */
async function* quotesOf(
  lines: AsyncIterable<Line>,
  settings: QuoteSettings,
): AsyncGenerator<QuoteResult> {
  let held: Line[] | null = []
  let length = 0
  for await (const line of lines) {
    if (line.text?.trim() === '') continue
    const isFirst = held?.length === 0
    held?.push(line)
    length += line.text?.length ?? 0
    if (held === null) yield quoteText(line.text, line.number, settings)
    else if ((isFirst && isCase(line.text)) || length > LINE_BYTES_MAX) {
      for (const { text, number } of held) yield quoteText(text, number, settings)
      held = null
    }
  }
  const documents = documentsIn((held ?? []).map(({ text }) => text).join('\n'))
  if (documents === null) {
    for (const { text, number } of held ?? []) yield quoteText(text, number, settings)
  } else {
    for (const [index, value] of documents.flat().entries()) {
      yield quoteCase(value, settings, `case ${index + 1}`)
    }
  }
}

/** A text, or what begins or ends an object or an array. */
const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\]]/g

/** Objects and arrays one after the other; null for a text with anything else. */
function documentsIn(text: string): unknown[] | null {
  const documents: unknown[] = []
  let [from, depth] = [0, 0]
  for (const { 0: token, index } of text.matchAll(TOKENS)) {
    if (token.startsWith('"')) continue
    depth += token === '{' || token === '[' ? 1 : -1
    if (depth > 0) continue
    const end = index + 1
    const document = parsed(text.slice(from, end))
    if (document === undefined) return null
    documents.push(document)
    from = end
  }
  return text.slice(from).trim() === '' ? documents : null
}

function isCase(text: string | null): boolean {
  const value = parsed(text ?? '')
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Undefined for a text that is not JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Quotes the case in a line of a file; a case without a name is named by its line. */
export function quoteText(
  text: string | null,
  number: number,
  settings: QuoteSettings,
): QuoteResult {
  const name = `line ${number}`
  if (text === null) return brokenCase(name, { field: '', why: 'is not UTF-8' })
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    return brokenCase(name, { field: '', why: `is not JSON: ${(error as Error).message}` })
  }
  return quoteCase(value, settings, name)
}

interface Line {
  /** Null if the line is not UTF-8. */
  text: string | null
  /** From 1. */
  number: number
}

async function* linesOf(bytes: AsyncIterable<Uint8Array>, file: string): AsyncGenerator<Line> {
  let begun: Uint8Array[] = []
  let length = 0
  let number = 0
  for await (const chunk of readable(bytes, file)) {
    let from = 0
    for (let end = chunk.indexOf(LINE_FEED); end >= 0; end = chunk.indexOf(LINE_FEED, from)) {
      number += 1
      yield { text: textOf([...begun, chunk.subarray(from, end)]), number }
      begun = []
      length = 0
      from = end + 1
    }
    begun.push(chunk.subarray(from))
    length += chunk.length - from
    if (length > LINE_BYTES_MAX) {
      throw new CommandError(`${file}: line ${number + 1} is longer than ${LINE_BYTES_MAX} bytes`)
    }
  }
  if (length > 0) yield { text: textOf(begun), number: number + 1 }
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

function textOf(parts: readonly Uint8Array[]): string | null {
  try {
    return utf8.decode(parts.length === 1 ? parts[0] : Buffer.concat(parts))
  } catch {
    return null
  }
}

async function* readable(
  bytes: AsyncIterable<Uint8Array>,
  file: string,
): AsyncGenerator<Uint8Array> {
  try {
    yield* bytes
  } catch (error) {
    throw new CommandError(`cannot read ${file}: ${(error as Error).message}`, { cause: error })
  }
}
