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
import { answerTypeOf } from '../../file-types/media-types.ts'
import type { Codec, DecodeContext, DecodeError } from './codec.ts'
import type { AnswerEncoder, MessageParser } from './encoder.ts'

/** Data of a request that the answer of a file type needs. */
export interface MappedEnvelope {
  readonly echo: Echo
  readonly skipped: readonly SkippedService[]
  /** The charged services, in the order of the message. */
  readonly services: readonly ServiceRequest[]
  /** Layout of the message as recorded by the parser. */
  readonly form: unknown
}

/** An error of a message with its layout, which the answer repeats. */
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

/** Codec of a file type: maps between the syntax of requests and that of answers. */
export function createMappedCodec(
  fileType: FileType,
  parser: MessageParser,
  encoder: AnswerEncoder,
): Codec<MappedEnvelope> {
  const { map, name, settings } = fileType
  const { malformed } = settings('').returnCodes
  return {
    contentType: answerTypeOf(fileType.encoder),
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
 * The outcome with a service for each requested one: skipped services are inserted at their
 * positions, and if a denial came before the services were processed, each is denied with that
 * reason. A failure has no services.
 */
export function withAllServices(envelope: MappedEnvelope, outcome: ChargeOutcome): ChargeOutcome {
  const { status } = reasons[outcome.reason]
  if (status === 'failed') {
    return outcome.services.length === 0 ? outcome : { ...outcome, services: [] }
  }
  const { services: requested, skipped } = envelope
  // Skipped services may be used regardless of the session.
  const isSkipped = requested.length === 0 && skipped.length > 0
  if (isSkipped && status === 'denied') return withAllServices(envelope, plainOutcome('granted'))
  const isBare = outcome.services.length === 0
  if (skipped.length === 0 && (!isBare || requested.length === 0)) return outcome
  const charged = isBare
    ? requested.map((service) => ungranted(service, outcome.reason))
    : outcome.services
  const cost = isBare && outcome.reason !== 'granted' ? COST_UNKNOWN : outcome.cost
  const reason = isSkipped && isItself(envelope.echo) ? 'notCharged' : outcome.reason
  return { ...outcome, reason, cost, services: inPlace(charged, skipped) }
}

/** Whether the message itself is its only service, without a list of services. */
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
  action: null,
  cost: 0,
  quote: null,
}

function inPlace(
  charged: readonly ServiceOutcome[],
  skipped: readonly SkippedService[],
): ServiceOutcome[] {
  const services = [...charged]
  // In ascending order of positions, so that each is inserted at its position in the message.
  for (const { index, problem, ...service } of skipped) {
    const reason = problem === null ? 'notCharged' : 'malformed'
    services.splice(index, 0, { ...NOTHING, ...service, reason })
  }
  return services
}
