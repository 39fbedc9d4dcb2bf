/** Explains step by step how a file type processes one message, for the operator who defines it. */
import {
  type BalanceReport,
  type ChargeOutcome,
  plainOutcome,
  reasons,
} from '../domain/charge-outcome.ts'
import type { ChargeRequest, ServiceRequest } from '../domain/charge-request.ts'
import type {
  CheckFileType,
  CheckReport,
  CheckStep,
  RatedMessage,
  RateMessage,
} from '../file-types/check-report.ts'
import { fileTypeDefaultsOf } from '../file-types/defaults.ts'
import { explainMessage, explainRequest } from '../file-types/explain.ts'
import type { FileType, Message } from '../file-types/file-type.ts'
import { fileTypeOrProblem } from '../file-types/installed.ts'
import { EXCLUDED, explainRecords, requestView } from '../file-types/records/explain.ts'
import { systemClock } from '../runtime/clock.ts'
import type { Codec, DecodeContext } from './codecs/codec.ts'
import { codecOf, parserOf } from './codecs/codec-of.ts'
import { offsetOf } from './codecs/places.ts'
import { unescapedValues } from './codecs/unescaped.ts'

/** Samples may be of any age. */
const ANY_AGE_MONTHS = 12_000

/** `config`: settings of the installation. Never rejects because of document or message. */
export const checkFileType: CheckFileType = async (document, sample, config, options = {}) => {
  const defaults = { ...fileTypeDefaultsOf(config), recordAgeMonthsMax: ANY_AGE_MONTHS }
  const { fileType, problem } = fileTypeOrProblem(document, defaults)
  if (fileType === null) {
    const { path, reason } = problem
    return { ok: false, steps: [{ step: 'document', ok: false, result: { path, reason } }] }
  }
  const nowMs = options.nowMs ?? systemClock.nowMs()
  if (fileType.type === 'usage') {
    return explainRecords(fileType, document, sample, nowMs, defaults)
  }
  const { servicesMax } = config.realtime
  const parts = {
    fileType,
    explainMessage: (message: Message) => explainMessage(document, message, servicesMax),
    explainRequest: (request: ChargeRequest) => explainRequest(document, request, defaults),
    validityMs: config.session.validityMs,
    rate: options.rate ?? notRated,
  }
  return checkMessage(sample, parts, {
    origin: 'check',
    nowMs,
    zone: config.rating.timeZone,
    servicesMax,
    eventAgeMsMax: Number.MAX_SAFE_INTEGER,
    eventFutureMsMax: Number.MAX_SAFE_INTEGER,
    keptFields: [],
    identifyingFields: [],
    identifies: () => false,
  })
}

interface CheckParts {
  fileType: FileType
  /**
   * Steps from the message to its charge request, and from there to the subscriber and its rate.
   */
  explainMessage(message: Message): CheckStep[]
  explainRequest(request: ChargeRequest): CheckStep[]
  /** Validity time of the grant in the sample answer. */
  validityMs: number
  rate: RateMessage
}

async function notRated(): Promise<RatedMessage> {
  return { steps: [], outcome: null }
}

async function checkMessage(
  body: Buffer,
  { fileType, validityMs, ...parts }: CheckParts,
  context: DecodeContext,
): Promise<CheckReport> {
  const { name, parser, isEnabled } = fileType
  const accepted = { file_type: name, parser: parser.type, enabled: isEnabled }
  const steps: CheckStep[] = [{ step: 'document', ok: true, result: accepted }]
  const codec: Codec<unknown> = codecOf(fileType)
  const parsed = parserOf(parser).parse(body)
  if (parsed.ok) {
    steps.push({ step: 'message', ok: true, result: parsed.message })
    steps.push(...unescapedWarning(body, parser))
    steps.push(...parts.explainMessage(parsed.message))
  }
  const decoded = codec.decode(body, context)
  if (!decoded.ok) {
    const { field, why } = decoded.error
    const offset = offsetOf(body, parser, decoded.error)
    const result = { field, why, offset }
    steps.push({ step: parsed.ok ? 'request' : 'message', ok: false, result })
    steps.push(answer('answer', codec.encodeError(decoded.error)))
    return { ok: false, steps }
  }
  const { request, envelope } = decoded
  if (request !== null) steps.push(...parts.explainRequest(request))
  steps.push({
    step: 'request',
    ok: true,
    result: request === null ? EXCLUDED : requestView(request),
  })
  const rated = request === null ? await notRated() : await parts.rate(request, fileType.rules)
  steps.push(...rated.steps)
  if (rated.outcome !== null) {
    steps.push(answer('answer', codec.encode(envelope, rated.outcome)))
    return { ok: true, steps }
  }
  const granted = grantedOutcome(request, validityMs, context.nowMs)
  steps.push(answer('answer if granted', codec.encode(envelope, granted)))
  if (request !== null) {
    const denied = plainOutcome('noCredit', reasons.noCredit.text, SAMPLE.aid, SAMPLE.sid)
    steps.push(answer('answer if denied', codec.encode(envelope, denied)))
  }
  return { ok: true, steps }
}

/**
 * In form encoding, + means a blank: a number with a leading + (as in an MSISDN) is read
 * differently.
 */
function unescapedWarning(body: Buffer, parser: FileType['parser']): CheckStep[] {
  const changed = parser.type === 'key_value' ? unescapedValues(body, parser) : new Map()
  if (changed.size === 0) return []
  return [{ step: 'warning: unescaped values', ok: true, result: Object.fromEntries(changed) }]
}

function answer(step: string, text: string): CheckStep {
  return { step, ok: true, result: text }
}

/** Subscriber of the sample answers. */
const SAMPLE = { aid: 17, sid: 18, transactionId: 'sample' }

/** Grants all requested units, to a subscriber with a money balance. */
function grantedOutcome(
  request: ChargeRequest | null,
  validityMs: number,
  nowMs: number,
): ChargeOutcome {
  const services = (request?.services ?? []).map((service) => grantedService(service, validityMs))
  const balance: BalanceReport = {
    prepaidIncludeId: 1,
    kind: 'money',
    usaget: '',
    counter: '',
    free: 5_000_000,
    reserved: 0,
    toMs: nowMs + validityMs,
    debt: 0,
  }
  const balances = request?.wantBalances ? [balance] : null
  return { ...plainOutcome('granted'), ...SAMPLE, services, balances }
}

function grantedService(service: ServiceRequest, validityMs: number) {
  const { ratingGroup, serviceIdentifier, usaget, requested } = service
  const granted = Math.max(requested, 0)
  return {
    ratingGroup,
    serviceIdentifier,
    usaget,
    reason: 'granted' as const,
    granted,
    parts: null,
    validityMs: granted > 0 ? validityMs : 0,
    tariffChangeMs: 0,
    finalUnit: false,
    action: null,
    cost: 0,
    quote: null,
  }
}
