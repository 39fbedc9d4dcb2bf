/**
 * `tollgate diameter send`: sends credit-control requests from a file to a node and prints the
 * answers.
 */
import { readFileSync } from 'node:fs'
import { stringify } from 'yaml'
import { isLoopback } from '../config/hosts.ts'
import type { Config } from '../config/schema.ts'
import { systemClock } from '../runtime/clock.ts'
import { parseDocument, readBytes } from './document-file.ts'
import { CommandError, UsageError } from './errors.ts'
import { type OptionValues, optionalNumber, optionalText, requiredText } from './options.ts'
import type { Shell } from './shell.ts'
import type { DiameterMessage, DiameterTarget, Tools } from './tools.ts'

const TIMEOUT_MS = 10_000
/** Hexadecimal digits and white space. */
const HEX = /^[0-9a-f\s]+$/i

/** Returns 1 if an answer has no success Result-Code. Throws `UsageError` and `CommandError`. */
export async function sendDiameter(
  shell: Shell,
  options: OptionValues,
  tools: Tools,
): Promise<0 | 1> {
  const source = requiredText(options, 'ccr')
  const config = shell.config()
  const target = targetOf(options, config)
  const messages = messagesIn(await readBytes(shell, source), source)
  const exchanged = await tools.sendDiameter(messages, target)
  for (const { request, answer } of exchanged) {
    if (options['json'] === true) shell.print(JSON.stringify({ request, answer }))
    else shell.print(`---\n${stringify(answer).trimEnd()}`)
  }
  return exchanged.every(({ resultCode }) => resultCode >= 2000 && resultCode < 3000) ? 0 : 1
}

function targetOf(options: OptionValues, { diameter }: Config): DiameterTarget {
  const isTls = options['tls'] === true
  const own = isTls ? diameter.tls.port : diameter.port
  const originRealm = optionalText(options, 'origin-realm') ?? diameter.originRealm
  return {
    host:
      optionalText(options, 'host') ?? (isLoopback(diameter.host) ? diameter.host : '127.0.0.1'),
    port: optionalNumber(options, 'port') ?? own,
    originHost: optionalText(options, 'origin-host'),
    originRealm,
    destinationRealm: optionalText(options, 'destination-realm') ?? diameter.originRealm,
    timeoutMs: TIMEOUT_MS,
    nowMs: systemClock.nowMs(),
    tls: isTls ? tlsOf(options) : rejectTlsOptions(options),
  }
}

function tlsOf(options: OptionValues): NonNullable<DiameterTarget['tls']> {
  const read = (name: string) => {
    const path = optionalText(options, name)
    return path === undefined ? {} : { [name]: bytesOf(path) }
  }
  return { ...read('ca'), ...read('cert'), ...read('key') }
}

function rejectTlsOptions(options: OptionValues): null {
  const present = ['ca', 'cert', 'key'].find((name) => options[name] !== undefined)
  if (present === undefined) return null
  throw new UsageError(`diameter send: --${present} needs --tls`)
}

function bytesOf(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    throw new CommandError(`cannot read ${path}: ${(error as Error).message}`, { cause: error })
  }
}

/**
 * Accepts hexadecimal digits, one message per line or paragraph; otherwise a document or a list of
 * documents.
 */
function messagesIn(bytes: Buffer, source: string): DiameterMessage[] {
  const text = bytes.toString('latin1')
  if (HEX.test(text) && text.trim() !== '') return messagesInHex(text, source)
  const document = parseDocument(bytes, source)
  const messages: unknown[] = Array.isArray(document) ? document : [document]
  return messages.map((message, index) => {
    if (typeof message === 'object' && message !== null && !Array.isArray(message)) {
      return message as DiameterMessage
    }
    throw new CommandError(`${source}: message ${index + 1} must be an object of AVPs by name`)
  })
}

/** Splits the bytes by the length field of each message. */
function messagesInHex(text: string, source: string): Buffer[] {
  const digits = text.replace(/\s/g, '')
  const bytes = Buffer.from(digits, 'hex')
  if (bytes.length * 2 !== digits.length) {
    throw new CommandError(`${source} has an odd number of hexadecimal digits`)
  }
  const messages: Buffer[] = []
  for (let at = 0; at < bytes.length; ) {
    const length = bytes.length - at < 4 ? 0 : bytes.readUIntBE(at + 1, 3)
    if (length < 20 || length > bytes.length - at) {
      throw new CommandError(`${source}: message ${messages.length + 1} has a wrong length field`)
    }
    messages.push(bytes.subarray(at, at + length))
    at += length
  }
  return messages
}
