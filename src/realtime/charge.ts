import { type ChargeOutcome, plainOutcome, type Reason, reasons } from '../domain/charge-outcome.ts'
import type { CreditControlClient as Sender } from '../domain/charge-request.ts'
import { type Clock, monotonicMs } from '../runtime/clock.ts'
import type { Logger } from '../runtime/log.ts'
import type { Metrics } from '../runtime/metrics.ts'
import type { Admission } from './admission.ts'
import type { DecodeContext, Decoded, MessageCodec } from './codecs/codec.ts'
import { isReport, loadClassOf } from './load-class.ts'
import type { Pool } from './pool.ts'
import type { OnOutcome, RequestSender } from './worker-queue.ts'

export interface ChargeOptions {
  readonly limits: Omit<DecodeContext, 'nowMs' | 'origin'>
  readonly admission: Admission
  readonly pool: Pick<Pool, 'submit'>
  readonly clock: Clock
  readonly metrics: Pick<Metrics, 'request'>
  readonly log: Pick<Logger, 'error'>
}

/** A received message and its metadata before decoding. */
export interface ReceivedMessage<Out> {
  /** Valid during the call of `Charge` only. */
  readonly body: Buffer
  readonly codec: MessageCodec<unknown, Out>
  /** Name of the codec's file type. */
  readonly fileType: string
  /** Identity of the network element; see `ChargeRequest.origin`. */
  readonly origin: string
  /** Name of the authenticated peer, otherwise ''. */
  readonly peer: string
  /** The client that waits for the answer. */
  readonly client: RequestSender
  /** State of the sending client (Origin-State-Id); undefined or null if it reports none. */
  readonly sender?: Sender | null
  /**
   * Called instead of `OnAnswer`, synchronously, if the peer exceeds its rate and the message is
   * not a report (reports are never refused for the rate). Null if the peer is within its rate.
   */
  readonly refuseOverRate: (() => void) | null
}

/**
 * Receives the answer. `out` is null, with reason `timedOut`, if it could not be encoded, which is
 * a defect.
 */
export type OnAnswer<Out> = (reason: Reason, out: Out | null, outcome?: ChargeOutcome) => void

/**
 * Calls `answer` once, synchronously or later; without an outcome if the message is malformed.
 * Keeps no reference to the body.
 */
export type ChargeOf<Out> = (received: ReceivedMessage<Out>, answer: OnAnswer<Out>) => void
export type Charge = <Out>(...charged: Parameters<ChargeOf<Out>>) => void

/**
 * Processes a request on the main thread: decode, admit, submit to a worker, encode. Malformed and
 * refused requests are answered immediately, all others when the worker has settled them.
 */
export function createCharge(options: ChargeOptions): Charge {
  const { limits, admission, pool, clock, metrics, log } = options

  return <Out>(received: ReceivedMessage<Out>, answer: OnAnswer<Out>) => {
    const { body, codec, fileType, origin, peer, client, refuseOverRate } = received
    const startMs = monotonicMs()
    const reply = (reason: Reason, out: Out | null, outcome?: ChargeOutcome) => {
      const { status, code } = reasons[reason]
      metrics.request(status, code, monotonicMs() - startMs, peer, fileType)
      answer(reason, out, outcome)
    }

    const decoded = decodeSafely(codec, body, contextOf(limits, origin, clock.nowMs()), log)
    if (refuseOverRate !== null && !isReportIn(decoded)) {
      refuseOverRate()
      return
    }
    if (!decoded.ok) {
      reply('malformed', codec.encodeError(decoded.error))
      return
    }
    const { request, envelope } = decoded
    if (request !== null && received.sender) request.client = received.sender
    /** Null, and logged, if the outcome cannot be encoded: a defect. */
    const encoded = (outcome: ChargeOutcome): Out | null => {
      try {
        return codec.encode(envelope, outcome)
      } catch (error) {
        log.error({ err: error }, 'outcome could not be encoded')
        return null
      }
    }
    const finish = (outcome: ChargeOutcome) => {
      const out = encoded(outcome)
      if (out !== null) reply(outcome.reason, out, outcome)
      // An exception here would also lose the answers of the rest of the batch.
      else reply('timedOut', encoded(plainOutcome('timedOut')))
    }

    if (request === null) {
      finish(plainOutcome('granted'))
      return
    }
    const load = loadClassOf(request)
    const candidate = { request, load, bytes: body.length }
    const onOutcome: OnOutcome = (outcome, isLookup) => {
      admission.release(candidate, monotonicMs(), isLookup, !failures.has(outcome.reason))
      finish(outcome)
    }
    const admitted = () => pool.submit(request, onOutcome, client, isReport(load))
    const decision = admission.acquire(candidate, startMs)
    if (decision === 'admitted') admitted()
    else if (decision === 'waits') {
      const refused = (why: string) => finish(plainOutcome('overloaded', why))
      admission.wait({ ...candidate, admitted, refused }, startMs)
    } else finish(plainOutcome('overloaded', decision === 'noMemory' ? NO_MEMORY : ''))
  }
}

const NO_MEMORY =
  'the memory for reports is used up (realtime.reportsBytesMax); nothing was charged'

function isReportIn(decoded: Decoded<unknown>): boolean {
  return decoded.ok && decoded.request !== null && isReport(loadClassOf(decoded.request))
}

const failures: ReadonlySet<string> = new Set(
  Object.entries(reasons).flatMap(([reason, { status }]) => (status === 'failed' ? [reason] : [])),
)

/** Written out field by field: a spread created a new object shape each time and cost 4 µs. */
function contextOf(limits: ChargeOptions['limits'], origin: string, nowMs: number): DecodeContext {
  return {
    origin,
    nowMs,
    servicesMax: limits.servicesMax,
    eventAgeMsMax: limits.eventAgeMsMax,
    eventFutureMsMax: limits.eventFutureMsMax,
    zone: limits.zone,
    keptFields: limits.keptFields,
    identifyingFields: limits.identifyingFields,
    identifies: limits.identifies,
  }
}

/**
 * No message may end the process and lose all requests in flight: the next message may be the same.
 */
function decodeSafely(
  codec: Pick<MessageCodec<unknown, unknown>, 'decode'>,
  body: Buffer,
  context: DecodeContext,
  log: Pick<Logger, 'error'>,
): Decoded<unknown> {
  try {
    return codec.decode(body, context)
  } catch (error) {
    // A defect: decoders must not throw.
    log.error({ err: error }, 'message could not be decoded')
    return { ok: false, error: { field: 'body', why: 'cannot be read' } }
  }
}
