import { createHash } from 'node:crypto'
import {
  type ChargeOutcome,
  plainOutcome,
  reasons,
  type ServiceOutcome,
} from '../../domain/charge-outcome.ts'
import type { ServiceRequest } from '../../domain/charge-request.ts'
import { COST_UNKNOWN } from '../../file-types/answer-fields.ts'
import type { AnswerSource, Echo, FileType, SkippedService } from '../../file-types/file-type.ts'
import type { Codec, DecodeContext, DecodeError } from './codec.ts'
import type { AnswerEncoder, MessageParser } from './encoder.ts'

/** What the answer of a file type needs of its request. */
export interface MappedEnvelope {
  readonly echo: Echo
  readonly skipped: readonly SkippedService[]
  /** Those that are charged, in the order of the message. */
  readonly services: readonly ServiceRequest[]
  /** What the parser remembered of the message's shape. */
  readonly form: unknown
}

/** A problem of a message, with what its answer needs to have the message's shape. */
class MessageProblem implements DecodeError {
  readonly field: string
  readonly why: string
  readonly form: unknown

  constructor({ field, why }: DecodeError, form: unknown) {
    this.field = field
    this.why = why
    this.form = form
  }
}

const NO_SERVICES: readonly ServiceRequest[] = []

/** The dialect of a file type: its mapping between the syntax of requests and that of answers. */
export function createMappedCodec(
  fileType: FileType,
  parser: MessageParser,
  encoder: AnswerEncoder,
): Codec<MappedEnvelope> {
  const { map, name, settings } = fileType
  const { malformed } = settings('').returnCodes
  return {
    contentType: encoder.contentType,
    decode(body, context) {
      const parsed = parser.parse(body)
      const { form } = parsed
      if (!parsed.ok) return { ok: false, error: new MessageProblem(parsed.error, form) }
      const mapped = map(parsed.message, mapContext(body, context))
      if ('why' in mapped) return { ok: false, error: new MessageProblem(mapped, form) }
      const { echo, request, skipped } = mapped
      const services = request === null ? NO_SERVICES : request.services
      return { ok: true, request, envelope: { echo, skipped, services, form } }
    },
    encode(envelope, outcome) {
      const whole = withAllServices(envelope, outcome)
      const answer: AnswerSource = { fileType: name, echo: envelope.echo, outcome: whole, settings }
      return encoder.encode(answer, envelope.form)
    },
    encodeError(error) {
      const form = error instanceof MessageProblem ? error.form : null
      return encoder.encodeError(error, malformed, form)
    },
  }
}

function mapContext(body: Buffer, context: DecodeContext) {
  return {
    origin: context.origin,
    nowMs: context.nowMs,
    servicesMax: context.servicesMax,
    eventAgeMsMax: context.eventAgeMsMax,
    eventFutureMsMax: context.eventFutureMsMax,
    bodyDigest: () => createHash('sha256').update(body).digest('hex'),
  }
}

/**
 * The outcome with a service for each that was asked for: what was skipped in its place, and of a
 * denial that came before any service was looked at each denied for that reason. None of a failure.
 */
export function withAllServices(envelope: MappedEnvelope, outcome: ChargeOutcome): ChargeOutcome {
  const { status } = reasons[outcome.reason]
  if (status === 'failed') {
    return outcome.services.length === 0 ? outcome : { ...outcome, services: [] }
  }
  const { services: asked, skipped } = envelope
  // What is skipped may be used, whatever its session is.
  const isSkipped = asked.length === 0 && skipped.length > 0
  if (isSkipped && status === 'denied') return withAllServices(envelope, plainOutcome('granted'))
  const isBare = outcome.services.length === 0
  if (skipped.length === 0 && (!isBare || asked.length === 0)) return outcome
  const charged = isBare
    ? asked.map((service) => ungranted(service, outcome.reason))
    : outcome.services
  const cost = isBare && outcome.reason !== 'granted' ? COST_UNKNOWN : outcome.cost
  const reason = isSkipped && isItself(envelope.echo) ? 'notCharged' : outcome.reason
  return { ...outcome, reason, cost, services: inPlace(charged, skipped) }
}

/** Whether the message has no list of services, but is one. */
function isItself({ entries, message }: Echo): boolean {
  return entries[0] === message
}

function ungranted(service: ServiceRequest, reason: ServiceOutcome['reason']): ServiceOutcome {
  const { ratingGroup, serviceIdentifier, usaget } = service
  return { ...NOTHING, ratingGroup, serviceIdentifier, usaget, reason, cost: COST_UNKNOWN }
}

const NOTHING = {
  granted: 0,
  parts: null,
  validityMs: 0,
  tariffChangeMs: 0,
  finalUnit: false,
  cost: 0,
  quote: null,
}

function inPlace(
  charged: readonly ServiceOutcome[],
  skipped: readonly SkippedService[],
): ServiceOutcome[] {
  const services = [...charged]
  // By growing positions: each insertion is at its place in the message.
  for (const { index, problem, ...service } of skipped) {
    const reason = problem === null ? 'notCharged' : 'malformed'
    services.splice(index, 0, { ...NOTHING, ...service, reason })
  }
  return services
}
