/** Reads a JSON or YAML document from a file or from standard input. */
import { createReadStream } from 'node:fs'
import { LineCounter, parseDocument as parse } from 'yaml'
import { CommandError } from './errors.ts'
import type { Shell } from './shell.ts'

const BYTES_MAX = 16 * 1024 * 1024

/** The bytes of a file; `-` is standard input. Throws `CommandError`. */
export async function readBytes(shell: Shell, file: string): Promise<Buffer> {
  const source = file === '-' ? shell.input : createReadStream(file)
  const chunks: Uint8Array[] = []
  let length = 0
  try {
    for await (const chunk of source as AsyncIterable<Uint8Array>) {
      length += chunk.length
      if (length > BYTES_MAX) break
      chunks.push(chunk)
    }
  } catch (error) {
    throw new CommandError(`cannot read ${file}: ${(error as Error).message}`, { cause: error })
  }
  if (length > BYTES_MAX) throw new CommandError(`${file} has more than ${BYTES_MAX} bytes`)
  return Buffer.concat(chunks)
}

/** Parses a file of JSON or YAML. Throws `CommandError` with the line number. */
export async function readDocument(shell: Shell, file: string): Promise<unknown> {
  return parseDocument(await readBytes(shell, file), file)
}

/** Like `readDocument`, for bytes that were read from `file`. */
export function parseDocument(bytes: Buffer, file: string): unknown {
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new CommandError(`${file} is not UTF-8`)
  }
  if (text.trim() === '') throw new CommandError(`${file} is empty`)
  return parseJson(text) ?? parseYaml(text, file)
}

/** Undefined if the text is not JSON. JSON with tabs is not valid YAML. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function parseYaml(text: string, file: string): unknown {
  const lineCounter = new LineCounter()
  const document = parse(text, { prettyErrors: false, lineCounter })
  const error = document.errors[0]
  if (error !== undefined) {
    const { line } = lineCounter.linePos(error.pos[0])
    throw new CommandError(`${file}: line ${line} is neither JSON nor YAML: ${error.message}`)
  }
  try {
    return document.toJS()
  } catch {
    throw new CommandError(`${file} has unusable aliases`)
  }
}
