/**
 * Encodes answers to credit-control requests as JSON in the layout of the request: AVP names or
 * codes, layout, envelope.
 */
import type { ServiceOutcome } from '../../../domain/charge-outcome.ts'
import type {
  AnswerReader,
  AnswerSource,
  AnswerValue,
  Message,
  ResponseNode,
} from '../../../file-types/file-type.ts'
import type { DecodeError } from '../codec.ts'
import type { AnswerEncoder } from '../encoder.ts'
import { AvpWriter, type WrittenAvp } from './avp-writer.ts'
import { type DiameterForm, plainForm } from './diameter-form.ts'
import { type Avp, avpByKey } from './dictionary.ts'
import { wrap } from './envelope.ts'

/** An AVP of the answer. Nodes of the same name are repetitions of one AVP. */
interface Member {
  name: string
  avp: Avp | undefined
  /** Whether it is a list in the layout `object` even if it occurs once. */
  isList: boolean
  sources: readonly Source[]
}

/** Appends the encoded values of an AVP; none if it has no value. */
type Source = (values: string[], from: ValueContext, writer: AvpWriter) => void

interface ValueContext {
  answer: AnswerSource
  service: ServiceOutcome | null
  entry: Message
}

const MISSING_AVP = 5005
const INVALID_AVP_VALUE = 5004
const OCCURS_TOO_MANY_TIMES = 5009
const UNABLE_TO_COMPLY = 5012
/** Lower return codes belong to another message format. */
const RESULT_CODE_MIN = 1001
const CREDIT_CONTROL_APPLICATION = 4

export function createDiameterEncoder(nodes: readonly ResponseNode[]): AnswerEncoder {
  const members = membersOf(nodes)
  return {
    encode(answer, params) {
      const form = formOf(params)
      const writer = new AvpWriter(form)
      const from = { answer, service: null, entry: answer.echo.message }
      const avps = writer.group(writtenOf(members, from, writer))
      return wrap(form, avps, answer.settings('').returnCodes[answer.outcome.reason])
    },
    encodeError: (error, code, params) => encodeError(error, code, formOf(params)),
  }
}

function formOf(form: unknown): DiameterForm {
  return form === null || form === undefined ? plainForm() : (form as DiameterForm)
}

function membersOf(nodes: readonly ResponseNode[]): Member[] {
  const byName = new Map<string, { avp: Avp | undefined; nodes: ResponseNode[] }>()
  for (const node of nodes) {
    const avp = avpByKey(node.name)
    const name = avp?.name ?? node.name
    const member = byName.get(name)
    if (member === undefined) byName.set(name, { avp, nodes: [node] })
    else member.nodes.push(node)
  }
  return [...byName].map(([name, member]) => ({
    name,
    avp: member.avp,
    isList: member.nodes.some(({ kind }) => kind === 'services'),
    sources: member.nodes.map((node) => sourceOf(node, member.avp)),
  }))
}

function sourceOf(node: ResponseNode, avp: Avp | undefined): Source {
  switch (node.kind) {
    case 'value':
      return valueSource(node.read, avp)
    case 'group':
      return groupSource(membersOf(node.children))
    case 'services':
      return servicesSource(membersOf(node.children))
  }
}

function valueSource(read: AnswerReader, avp: Avp | undefined): Source {
  return (values, { answer, service, entry }, writer) => {
    const value = read(answer, service, entry)
    if (value !== undefined) writer.values(values, value, avp)
  }
}

function groupSource(members: readonly Member[]): Source {
  return (values, from, writer) => {
    const written = writtenOf(members, from, writer)
    if (written.length > 0) values.push(writer.group(written))
  }
}

/** Left out if the message itself is its only service, without a list of services. */
function servicesSource(members: readonly Member[]): Source {
  return (values, { answer }, writer) => {
    const { echo, outcome } = answer
    if (echo.entries[0] === echo.message) return
    for (const [index, service] of outcome.services.entries()) {
      const entry = echo.entries[index] ?? echo.message
      values.push(writer.group(writtenOf(members, { answer, service, entry }, writer)))
    }
  }
}

function writtenOf(
  members: readonly Member[],
  from: ValueContext,
  writer: AvpWriter,
): WrittenAvp[] {
  const written: WrittenAvp[] = []
  for (const { name, avp, isList, sources } of members) {
    const values: string[] = []
    for (const source of sources) source(values, from, writer)
    if (values.length > 0) written.push({ name, avp, isList, values })
  }
  return written
}

/** Repeats the known values of the request; `Error-Message` says what is wrong. */
function encodeError(error: DecodeError, code: number, form: DiameterForm): string {
  const writer = new AvpWriter(form)
  const resultCode = resultCodeOf(error, code)
  const echoed = new Map(form.echo)
  const avps: [name: string, value: AnswerValue | undefined][] = [
    ['Session-Id', echoed.get('Session-Id')],
    ['Result-Code', resultCode],
    ['Auth-Application-Id', CREDIT_CONTROL_APPLICATION],
    ['CC-Request-Type', echoed.get('CC-Request-Type')],
    ['CC-Request-Number', echoed.get('CC-Request-Number')],
    ['Error-Message', `${error.field} ${error.why}`],
  ]
  const written: WrittenAvp[] = []
  for (const [name, value] of avps) {
    if (value === undefined) continue
    const avp = avpByKey(name)
    const values: string[] = []
    writer.values(values, value, avp)
    written.push({ name, avp, isList: false, values })
  }
  return wrap(form, writer.group(written), resultCode)
}

/**
 * Result-Code of a decode error: the configured code unless it merely means "malformed"; otherwise
 * by RFC 8506 section 9 and RFC 6733 section 7.1.
 */
export function resultCodeOf({ field, why, isTooMany }: DecodeError, code: number): number {
  if (code >= RESULT_CODE_MIN && code !== INVALID_AVP_VALUE) return code
  if (isTooMany === true) return OCCURS_TOO_MANY_TIMES
  if (field === 'body') return UNABLE_TO_COMPLY
  return why.includes('is required') ? MISSING_AVP : INVALID_AVP_VALUE
}
