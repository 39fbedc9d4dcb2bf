/** Codec of binary credit-control messages, mapped by a file type of parser `diameter`. */
import { createHash } from 'node:crypto'
import type { ServiceRequest } from '../../../domain/charge-request.ts'
import type {
  AnswerSource,
  FileType,
  MapContext,
  SkippedService,
} from '../../../file-types/file-type.ts'
import type { DecodeContext, DecodeError, MessageCodec } from '../codec.ts'
import { resultCodeOf } from '../diameter/encode-diameter.ts'
import { type MappedEnvelope, withAllServices } from '../mapped.ts'
import { createAnswerWriter, type WireForm } from './answer-writer.ts'
import { failedAvpBytes, problemAvps, tracedAnswer } from './base-answer.ts'
import { uint24At, uint32At } from './bytes.ts'
import { failedAt } from './failed-avp.ts'
import { type Header, padded, readAvps, readHeader } from './message.ts'
import type { WireIdentity } from './protocol.ts'
import { application, avpCode, command, HEADER_BYTES, resultCode } from './protocol.ts'
import { AvpNames } from './read-names.ts'
import { headerTrace, traceOf } from './trace.ts'
import { checkRequest, type RequestIds } from './wire-checks.ts'
import { type AvpProblem, WireProblem } from './wire-problem.ts'
import { WireReader } from './wire-reader.ts'

/** Decodes complete messages with command 272 and the request bit; encodes complete answers. */
export type WireCodec = MessageCodec<unknown, Buffer>

/** Placeholder before the first message. */
const NO_HEADER: Header = {
  flags: 0,
  command: command.creditControl,
  application: application.creditControl,
  hopByHopId: 0,
  endToEndId: 0,
}
const NO_SERVICES: readonly ServiceRequest[] = []

export function createWireCodec(fileType: FileType, identity: WireIdentity): WireCodec {
  const { map, name, settings, response, words } = fileType
  const { malformed } = settings('').returnCodes
  const reader = new WireReader(new AvpNames(words))
  const writeAnswer = createAnswerWriter(response, identity)
  /** Header of the last message, for the answer if a defect prevents decoding. */
  let lastHeader = NO_HEADER
  const refused = (body: Buffer, found: AvpProblem) => ({
    ok: false as const,
    error: new WireProblem(found, traceOf(body)),
  })

  return {
    decode(body, context) {
      if (body.length < HEADER_BYTES) return { ok: false, error: TOO_SHORT }
      lastHeader = readHeader(body)
      if (body.length % 4 !== 0) return refused(body, NOT_WHOLE)
      const message = reader.read(body)
      if (reader.problem !== null) return refused(body, reader.problem)
      const ids = checkRequest(body, reader)
      if ('why' in ids) return refused(body, ids)
      const mapped = map(message, mapContext(body, context, ids, reader.originHostAt))
      if ('why' in mapped) return refused(body, mappingProblem(body, mapped, malformed))
      const { echo, request, skipped } = mapped
      const services = request === null ? NO_SERVICES : request.services
      const form = formOf(body, lastHeader, ids, reader.proxiesAt, skipped)
      return { ok: true, request, envelope: { echo, skipped, services, form } }
    },
    encode(envelope, outcome) {
      const mapped = envelope as MappedEnvelope
      const { echo, form } = mapped
      const whole = withAllServices(mapped, outcome)
      const answer: AnswerSource = { fileType: name, echo, outcome: whole, settings }
      return writeAnswer(answer, form as WireForm)
    },
    encodeError(error) {
      const why = `${error.field} ${error.why}`
      if (error instanceof WireProblem) {
        const { resultCode, failed, trace } = error
        return tracedAnswer(trace, resultCode, identity, problemAvps({ why, failed }))
      }
      const code = resultCodeOf(error, malformed)
      return tracedAnswer(headerTrace(lastHeader), code, identity, problemAvps({ why }))
    },
  }
}

const NOT_WHOLE: AvpProblem = {
  field: 'body',
  why: 'has a length that is not a multiple of 4',
  resultCode: resultCode.invalidMessageLength,
  failed: null,
}
const TOO_SHORT: DecodeError = { field: 'body', why: 'has no header' }

/** Written out field by field: a spread created a new object shape for each request. */
function formOf(
  body: Buffer,
  { flags, hopByHopId, endToEndId }: Header,
  { sessionId, requestType, requestNumber }: RequestIds,
  proxiesAt: readonly number[],
  skipped: readonly SkippedService[],
): WireForm {
  return {
    flags,
    hopByHopId,
    endToEndId,
    sessionId,
    requestType,
    requestNumber,
    proxies: proxiesAt.length === 0 ? null : copiesOf(body, proxiesAt),
    failed: failedOf(body, skipped),
  }
}

const NOTHING_FAILED: readonly Buffer[] = []

/** `Failed-AVP`s of the services that are refused individually. */
function failedOf(body: Buffer, skipped: readonly SkippedService[]): readonly Buffer[] {
  if (skipped.length === 0) return NOTHING_FAILED
  const problems = skipped.map(({ problem }) => problem).filter((problem) => problem !== null)
  if (problems.length === 0) return NOTHING_FAILED
  const avps = readAvps(body.subarray(HEADER_BYTES))
  return problems.flatMap(({ field }) => {
    const failed = failedAt(avps, field)
    return failed === null ? [] : [failedAvpBytes(failed)]
  })
}

/** Copies of AVPs with their padding. */
function copiesOf(body: Buffer, offsets: readonly number[]): Buffer {
  return Buffer.concat(offsets.map((at) => body.subarray(at, padded(at + uint24At(body, at + 5)))))
}

function mapContext(
  body: Buffer,
  context: DecodeContext,
  { requestNumber }: RequestIds,
  originHostAt: number,
): MapContext {
  return {
    origin: context.origin,
    nowMs: context.nowMs,
    servicesMax: context.servicesMax,
    eventAgeMsMax: context.eventAgeMsMax,
    eventFutureMsMax: context.eventFutureMsMax,
    bodyDigest: () => (requestNumber < 0 ? eventDigest(body, originHostAt) : contentDigest(body)),
  }
}

/**
 * Digest that identifies an event without a number: its End-to-End Identifier and Origin-Host,
 * which a retransmission repeats on any path (RFC 6733 section 3).
 */
function eventDigest(body: Buffer, originHostAt: number): string {
  const length = uint24At(body, originHostAt + 5)
  return createHash('sha256')
    .update(body.subarray(16, HEADER_BYTES))
    .update(body.subarray(originHostAt + 8, originHostAt + length))
    .digest('hex')
}

/** AVPs that depend on the path of a message. */
const ON_THE_WAY: readonly number[] = [
  avpCode.routeRecord,
  avpCode.proxyInfo,
  avpCode.destinationHost,
]

/** Digest of the AVPs that a retransmission repeats, even on another path. */
function contentDigest(body: Buffer): string {
  const hash = createHash('sha256')
  for (let at = HEADER_BYTES; at < body.length; ) {
    const end = padded(at + uint24At(body, at + 5))
    if (!ON_THE_WAY.includes(uint32At(body, at))) hash.update(body.subarray(at, end))
    at = end
  }
  return hash.digest('hex')
}

function mappingProblem(body: Buffer, problem: DecodeError, malformed: number): AvpProblem {
  const failed = failedAt(readAvps(body.subarray(HEADER_BYTES)), problem.field)
  return { ...problem, resultCode: resultCodeOf(problem, malformed), failed }
}
