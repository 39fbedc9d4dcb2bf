/** Encodes answers to credit-control requests from the response tree of a file type. */
import { reasons, type ServiceOutcome } from '../../../domain/charge-outcome.ts'
import type { AnswerSource, ResponseNode } from '../../../file-types/file-type.ts'
import { AnswerBytes } from './answer-bytes.ts'
import { type AvpSource, type Member, membersOf } from './answer-plan.ts'
import { type AvpRule, ruleOf } from './avp-rules.ts'
import { putUint24, putUint32 } from './bytes.ts'
import { textAvp, writeMessage } from './message.ts'
import {
  application,
  avpCode,
  command,
  flags,
  HEADER_BYTES,
  isProtocolError,
  resultCode,
  VERSION,
  type WireIdentity,
} from './protocol.ts'

/** Values of the request that its answer repeats, in addition to `Answer.echo`. */
export interface WireForm {
  /** Flags of the request's header. */
  readonly flags: number
  readonly hopByHopId: number
  readonly endToEndId: number
  readonly sessionId: string
  readonly requestType: number
  /** -1 if the request has none. */
  readonly requestNumber: number
  /** All `Proxy-Info` AVPs unchanged; null if absent. */
  readonly proxies: Buffer | null
  /** `Failed-AVP`s of the services that were refused individually. */
  readonly failed: readonly Buffer[]
}

/** Reuses one buffer: writes one answer at a time. */
export type WriteAnswer = (answer: AnswerSource, form: WireForm) => Buffer

type Write = (bytes: AnswerBytes, answer: AnswerSource, form: WireForm) => void

const rule = (code: number) => ruleOf(code, 0) as AvpRule
const rules = {
  sessionId: rule(avpCode.sessionId),
  resultCode: rule(avpCode.resultCode),
  authApplicationId: rule(avpCode.authApplicationId),
  requestType: rule(avpCode.ccRequestType),
  requestNumber: rule(avpCode.ccRequestNumber),
  failedAvp: rule(avpCode.failedAvp),
  ratingGroup: rule(avpCode.ratingGroup),
}
const SERVICE_IDENTIFIER = ruleOf(439, 0) as AvpRule
/** Lower return codes belong to another message format. */
const RESULT_CODE_MIN = 1001

/**
 * Session-Id comes first and is that of the request, regardless of the tree. AVPs that each answer
 * must have (RFC 8506 section 3.2) and the tree lacks are added; Origin-Host and Origin-Realm
 * follow Result-Code.
 */
export function createAnswerWriter(
  nodes: readonly ResponseNode[],
  identity: WireIdentity,
): WriteAnswer {
  const writes = writesOf(membersOf(nodes), identity)
  const bytes = new AnswerBytes()
  return (answer, form) => {
    bytes.begin()
    for (const write of writes) write(bytes, answer, form)
    if (form.proxies !== null) bytes.raw(form.proxies)
    const isError = isProtocolError(bytes.numberAt(bytes.resultCodeAt))
    return withHeader(bytes.end(), form, isError)
  }
}

function withHeader(message: Buffer, form: WireForm, isError: boolean): Buffer {
  message[0] = VERSION
  putUint24(message, 1, message.length)
  message[4] = (form.flags & flags.proxiable) | (isError ? flags.error : 0)
  putUint24(message, 5, command.creditControl)
  putUint32(message, 8, application.creditControl)
  putUint32(message, 12, form.hopByHopId)
  putUint32(message, 16, form.endToEndId)
  return message
}

function writesOf(members: readonly Member[], identity: WireIdentity): readonly Write[] {
  const sourcesByRule = new Map(members.map(({ rule, sources }) => [rule, sources]))
  const writes: Write[] = [writeSessionId]
  const names = namesOf(identity, (code) => sourcesByRule.has(rule(code)))
  const resultWrites = (sourcesByRule.get(rules.resultCode) ?? []).map(writeOf)
  const writeResult: Write = (bytes, answer, form) => {
    const before = bytes.at
    for (const write of resultWrites) if (bytes.at === before) write(bytes, answer, form)
    if (bytes.at === before) bytes.uint32(rules.resultCode, resultCodeOf(answer))
    bytes.resultCodeAt = before + 8
    bytes.raw(names)
  }
  if (!sourcesByRule.has(rules.resultCode)) writes.push(writeResult, ...absentOf(sourcesByRule))
  for (const { rule, sources } of members) {
    if (rule === rules.sessionId) continue
    if (rule === rules.resultCode) writes.push(writeResult, ...absentOf(sourcesByRule))
    else if (rule !== rules.failedAvp) writes.push(...sources.map(writeOf))
  }
  writes.push(failedOf((sourcesByRule.get(rules.failedAvp) ?? []).map(writeOf)))
  return writes
}

/**
 * Failed-AVP of the tree; otherwise the services that could not be decoded, and those without a
 * rate.
 */
function failedOf(writes: readonly Write[]): Write {
  return (bytes, answer, form) => {
    const before = bytes.at
    for (const write of writes) write(bytes, answer, form)
    if (bytes.at > before) return
    for (const failed of form.failed) bytes.raw(failed)
    writeUnrated(bytes, answer, form)
  }
}

function writeOf(source: AvpSource): Write {
  return (bytes, answer) => source(bytes, answer, null, answer.echo.message)
}

const writeSessionId: Write = (bytes, _answer, { sessionId }) =>
  bytes.text(rules.sessionId, sessionId)

/** Writers of the required AVPs that the tree lacks. */
function absentOf(sourcesByRule: ReadonlyMap<AvpRule, unknown>): readonly Write[] {
  const all: readonly (readonly [AvpRule, Write])[] = [
    [
      rules.authApplicationId,
      (bytes) => bytes.uint32(rules.authApplicationId, application.creditControl),
    ],
    [
      rules.requestType,
      (bytes, _answer, { requestType }) => bytes.uint32(rules.requestType, requestType),
    ],
    [
      rules.requestNumber,
      (bytes, _answer, { requestNumber }) => {
        if (requestNumber >= 0) bytes.uint32(rules.requestNumber, requestNumber)
      },
    ],
  ]
  return all.filter(([rule]) => !sourcesByRule.has(rule)).map(([, write]) => write)
}

/** Origin-Host and Origin-Realm as bytes, unless the tree has them. */
function namesOf(
  { originHost, originRealm }: WireIdentity,
  isKnown: (code: number) => boolean,
): Buffer {
  const all = [textAvp(avpCode.originHost, originHost), textAvp(avpCode.originRealm, originRealm)]
  const avps = all.filter(({ code }) => !isKnown(code))
  const header = { flags: 0, command: 0, application: 0, hopByHopId: 0, endToEndId: 0 }
  return writeMessage({ ...header, avps }).subarray(HEADER_BYTES)
}

/** Result-Code of a tree without one. */
function resultCodeOf({ outcome, settings }: AnswerSource): number {
  const usaget = outcome.services[0]?.usaget ?? ''
  const code = settings(usaget).returnCodes[outcome.reason]
  if (code >= RESULT_CODE_MIN) return code
  const { status } = reasons[outcome.reason]
  if (status === 'granted') return resultCode.success
  return status === 'failed' ? resultCode.tooBusy : resultCode.unableToComply
}

/** Failed-AVP with the rating groups of services without a rate (RFC 8506 section 9.2). */
const writeUnrated: Write = (bytes, { echo, outcome, settings }) => {
  const { entries, message } = echo
  const { services } = outcome
  if (services.length === 0 || entries[0] === message) return
  let start = -1
  for (let index = 0; index < services.length; index += 1) {
    const { reason, usaget } = services[index] as ServiceOutcome
    if (reason === 'granted') continue
    if (settings(usaget).returnCodes[reason] !== resultCode.ratingFailed) continue
    const entry = entries[index] ?? message
    const key = typeof entry['Rating-Group'] === 'number' ? rules.ratingGroup : SERVICE_IDENTIFIER
    const value = entry[key.name]
    if (typeof value !== 'number') continue
    if (start < 0) start = bytes.open(rules.failedAvp)
    bytes.uint32(key, value)
  }
  if (start >= 0) bytes.close(start)
}
