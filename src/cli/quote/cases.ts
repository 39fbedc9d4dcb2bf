/** A file of cases, one of each line: read and answered line by line, so that it may be long. */
import { createReadStream } from 'node:fs'
import { print, printError, standardInput, stopWithoutReader } from '../../runtime/terminal.ts'
import { CommandError } from '../errors.ts'
import { brokenCase, type QuoteResult, quoteCase, quoteLine } from './quote-case.ts'
import type { QuoteSettings } from './settings.ts'

/** Characters of one line; a case with a catalogue of 100,000 rates has 30 million. */
const LINE_LENGTH_MAX = 2 ** 27

/**
 * Prints a line for each case, in order; `file` `-` is standard input. 1 if a case is broken or not
 * as expected. Throws `CommandError` if the file cannot be read.
 */
export async function quoteCases(file: string, settings: QuoteSettings): Promise<0 | 1> {
  const bytes = file === '-' ? standardInput() : createReadStream(file)
  stopWithoutReader()
  let cases = 0
  let failed = 0
  for await (const { text, number } of linesOf(bytes, file)) {
    if (text.trim() === '') continue
    const quoted = quoteText(text, number, settings)
    cases += 1
    if (quoted.ok === false) failed += 1
    print(quoteLine(quoted))
  }
  if (failed === 0) return 0
  printError(`tollgate: ${failed} of ${cases} cases are broken or not as expected`)
  return 1
}

/** A case as it stands in a line of a file; one without a name is called by the line. */
export function quoteText(text: string, number: number, settings: QuoteSettings): QuoteResult {
  const name = `line ${number}`
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    return brokenCase(name, { field: '', why: `is no JSON: ${(error as Error).message}` })
  }
  return quoteCase(value, settings, name)
}

interface Line {
  text: string
  /** From 1. */
  number: number
}

async function* linesOf(bytes: AsyncIterable<Uint8Array>, file: string): AsyncGenerator<Line> {
  const decoder = new TextDecoder()
  let begun = ''
  let number = 0
  for await (const chunk of readable(bytes, file)) {
    const parts = decoder.decode(chunk, { stream: true }).split('\n')
    const rest = parts.pop() ?? ''
    for (const part of parts) {
      number += 1
      yield { text: begun + part, number }
      begun = ''
    }
    begun += rest
    if (begun.length > LINE_LENGTH_MAX) {
      throw new CommandError(`${file}: line ${number + 1} is longer than ${LINE_LENGTH_MAX}`)
    }
  }
  if (begun !== '') yield { text: begun, number: number + 1 }
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
