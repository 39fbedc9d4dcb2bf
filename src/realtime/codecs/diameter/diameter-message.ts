/**
 * Parses credit-control requests as JSON, with AVPs by name or by code, into messages by name
 * (docs/WIRE.md, "Diameter as JSON").
 */
import { isUtf8 } from 'node:buffer'
import type { Message } from '../../../file-types/file-type.ts'
import type { MessageParser, ParsedMessage } from '../encoder.ts'
import { AvpReader } from './avp-reader.ts'
import { type DiameterForm, plainForm } from './diameter-form.ts'

const CREDIT_CONTROL = 272
const COMMANDS: readonly unknown[] = [
  'Credit-Control',
  'Credit-Control-Request',
  'CCR',
  String(CREDIT_CONTROL),
  CREDIT_CONTROL,
]
/** Values that answers repeat. */
const ECHOED = ['Session-Id', 'CC-Request-Type', 'CC-Request-Number']
const ECHO_CHARS_MAX = 256

/** Reads messages in any of the layouts of `DiameterForm`, and records which. */
export const diameterMessageParser: MessageParser = {
  parse(body) {
    const form = plainForm()
    const parsed = parseJson(body)
    if (typeof parsed === 'string') return refused(form, 'body', parsed)
    const avps = unwrap(parsed, form)
    if (!('record' in avps)) return refused(form, avps.field, avps.why)
    const message = new AvpReader(form).read(avps.record)
    if (typeof message === 'string') return refused(form, 'body', message)
    form.echo = echoOf(message)
    return { ok: true, message, form }
  },
}

function refused(form: DiameterForm, field: string, why: string): ParsedMessage {
  return { ok: false, error: { field, why }, form }
}

/** The record or list in the body, or why the body is refused. */
function parseJson(body: Buffer): object | string {
  if (body.length === 0) return 'is empty'
  if (!isUtf8(body)) return 'is not UTF-8'
  let value: unknown
  try {
    value = JSON.parse(body.toString('utf8'))
  } catch {
    return 'is not JSON'
  }
  return isContainer(value) ? value : 'is neither a JSON object nor a list'
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** Removes the envelope, which is kept in the form; it must be that of a request. */
function unwrap(
  body: object,
  form: DiameterForm,
): { record: object } | { field: string; why: string } {
  if (Array.isArray(body)) return { record: body }
  const record = body as Readonly<Record<string, unknown>>
  const bodyKey = ['body', 'avps'].find((key) => Object.hasOwn(record, key))
  const avps = bodyKey === undefined ? undefined : record[bodyKey]
  if (bodyKey === undefined || !isContainer(avps)) return { record }
  form.envelope = { record, bodyKey }
  const header = Object.hasOwn(record, 'header') ? record['header'] : undefined
  const commands = [own(record, 'command'), own(header, 'command'), own(header, 'commandCode')]
  if (commands.some((command) => command !== undefined && !COMMANDS.includes(command))) {
    return { field: 'command', why: 'must be Credit-Control' }
  }
  if (own(own(header, 'flags'), 'request') === false) {
    return { field: 'header.flags.request', why: 'must be true: answers are not accepted' }
  }
  return { record: avps }
}

function own(record: unknown, name: string): unknown {
  if (!isContainer(record) || !Object.hasOwn(record, name)) return undefined
  return (record as Readonly<Record<string, unknown>>)[name]
}

function echoOf(message: Message): [name: string, value: string | number][] {
  const echo: [name: string, value: string | number][] = []
  for (const name of ECHOED) {
    const value = message[name]
    const isText = typeof value === 'string' && value.length <= ECHO_CHARS_MAX
    if (isText || (typeof value === 'number' && Number.isFinite(value))) echo.push([name, value])
  }
  return echo
}
