/** Requests of every message format, delivered by TCP in arbitrary pieces. */
import { describe, expect, it } from 'vitest'
import { plainOutcome } from '../../../src/domain/charge-outcome.ts'
import type { ChargeRequest } from '../../../src/domain/charge-request.ts'
import { createAdmission } from '../../../src/realtime/admission.ts'
import { createCharge } from '../../../src/realtime/charge.ts'
import { createMessageFormats, isMessageFormat } from '../../../src/realtime/message-formats.ts'
import { createLogger } from '../../../src/runtime/log.ts'
import { granted, service } from '../../support/file-types/answers.ts'
import { ANSWERS, jsonCodec } from '../../support/realtime/codecs/settings.ts'
import { KINDS, type Kind, serverOf } from '../../support/realtime/http/server-of.ts'
import { openSocket, type RawAnswer } from '../../support/realtime/http/socket.ts'
import { wireExamples } from '../../support/realtime/wire-examples.ts'

const rules = { rateCalculators: {}, customerIdentification: {} }
const formats = createMessageFormats({
  defaultName: 'json',
  plain: jsonCodec,
  defaults: { answers: ANSWERS, timeZone: 'UTC', countryPrefix: '', recordAgeMonthsMax: 3, rules },
  identity: { originHost: 'ocs.test', originRealm: 'test' },
})
const mapped = wireExamples('FILE-TYPES.md').get('mapped')
formats.replace([JSON.parse(mapped?.document ?? '')])

const nowMs = Date.UTC(2026, 10, 21, 10, 10)
const limits = {
  servicesMax: 32,
  eventAgeMsMax: 90 * 86_400_000,
  eventFutureMsMax: 300_000,
  zone: 'UTC',
  keptFields: [],
  identifyingFields: [],
  identifies: () => false,
}

/** Grants the requested units. */
function outcomeOf({ services }: ChargeRequest) {
  return granted(
    services.map(({ ratingGroup, usaget, requested }) =>
      service({ ratingGroup, usaget, granted: Math.max(0, requested), validityMs: 3_600_000 }),
    ),
  )
}

interface Message {
  name: string
  fileType: string
  type: string
  body: string
}

const FORM = 'application/x-www-form-urlencoded'
const plainBody = wireExamples().get('services')?.request ?? ''
const pairs = wireExamples()
const avps = pairs

function golden(fileType: string, type: string, name: string, body = ''): Message {
  return { name, fileType, type, body }
}

const MESSAGES: readonly Message[] = [
  golden('json', 'application/json', 'plain JSON', plainBody),
  golden('json', 'application/json', 'other letters', plainBody.replace('pgw1', 'žluťoučký 🐎')),
  golden('json', FORM, 'a form', `x=1&request=${encodeURIComponent(plainBody)}`),
  golden('keyvalue', FORM, 'pairs of a form', pairs.get('kv-services')?.request),
  golden('keyvalue', 'text/plain', 'pairs', pairs.get('kv-start')?.request),
  golden('xml', 'application/xml', 'XML', pairs.get('xml-services')?.request),
  ...['start', 'codes', 'pairs', 'sms'].map((name) =>
    golden('diameter', 'application/json', name, avps.get(`diameter-${name}`)?.request),
  ),
  golden('GY_DATA', 'application/json', 'a mapped file type', mapped?.request),
]

/** The answer of the codec itself, without HTTP. */
function answerTo({ fileType, type, body }: Message): string {
  const found = formats.find(fileType)
  if (!isMessageFormat(found)) throw new Error(found.why)
  const message = type === FORM && fileType === 'json' ? plainBody : body
  const { codec } = found
  const decoded = codec.decode(Buffer.from(message), { ...limits, origin: 'http', nowMs })
  if (!decoded.ok) throw new Error(`${decoded.error.field} ${decoded.error.why}`)
  const { envelope, request } = decoded
  return codec.encode(envelope, request === null ? plainOutcome('granted') : outcomeOf(request))
}

async function chargingServer(kind: Kind) {
  const charge = createCharge({
    limits,
    admission: createAdmission({ inFlightMax: 100, reportsBytesMax: 1e6, waitMsMax: 500 }),
    clock: { nowMs: () => nowMs },
    pool: { submit: (request, done) => void setImmediate(() => done(outcomeOf(request), false)) },
    metrics: { request: () => undefined },
    log: createLogger({ name: 'test', level: 'silent' }),
  })
  return serverOf(kind, { charge, messageFormats: formats })
}

function bytesOf({ fileType, type, body }: Message): Buffer {
  const head = `POST /realtime/${fileType} HTTP/1.1\r\nHost: t\r\nContent-Type: ${type}\r\n`
  return Buffer.from(`${head}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
}

function chunkedOf({ fileType, type, body }: Message, cut: number): Buffer[] {
  const head = `POST /realtime/${fileType} HTTP/1.1\r\nHost: t\r\nContent-Type: ${type}\r\n`
  const whole = Buffer.from(body)
  const chunks = [whole.subarray(0, cut), whole.subarray(cut)].map((chunk) =>
    Buffer.concat([Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n')]),
  )
  const first = Buffer.from(`${head}Transfer-Encoding: chunked\r\n\r\n`)
  return [
    Buffer.concat([first, chunks[0] as Buffer]),
    chunks[1] as Buffer,
    Buffer.from('0\r\n\r\n'),
  ]
}

/** Long messages are cut at every seventh byte. */
function cutsOf({ length }: Buffer): number[] {
  const step = length > 700 ? 7 : 1
  return Array.from({ length: Math.ceil((length - 1) / step) }, (_, index) => 1 + index * step)
}

function withoutDate(answer: RawAnswer | null) {
  const headers = Object.fromEntries(answer?.headers ?? [])
  return { status: answer?.status, body: answer?.body, headers: { ...headers, date: '' } }
}

type Socket = ReturnType<typeof openSocket>

/** Each part is read before the next one is written. */
async function ask(socket: Socket, ...parts: Buffer[]) {
  for (const part of parts) {
    await socket.send(part)
    await new Promise((resolve) => setImmediate(resolve))
  }
  return withoutDate(await socket.answer())
}

describe.each(KINDS)('requests in pieces: %s', (kind) => {
  it.each(MESSAGES)('$fileType, $name, cut anywhere: is answered the same', async (message) => {
    const { port } = await chargingServer(kind)
    const socket = openSocket(port)
    const bytes = bytesOf(message)
    const whole = await ask(socket, bytes)
    expect(whole).toMatchObject({ status: 200, body: answerTo(message) })
    for (const cut of cutsOf(bytes)) {
      const answer = await ask(socket, bytes.subarray(0, cut), bytes.subarray(cut))
      expect(answer, `cut at ${cut}`).toEqual(whole)
    }
    socket.destroy()
  })

  // The native server refuses chunks.
  const inChunks = kind === 'native' ? it.skip : it
  inChunks.each(MESSAGES)('$fileType, $name, in chunks: is answered the same', async (message) => {
    const { port } = await chargingServer(kind)
    const socket = openSocket(port)
    const body = Buffer.from(message.body)
    for (const cut of cutsOf(body).filter((at) => at % 5 === 1)) {
      const answer = await ask(socket, ...chunkedOf(message, cut))
      expect(answer, `cut at ${cut}`).toMatchObject({ status: 200, body: answerTo(message) })
    }
    socket.destroy()
  })

  it('message formats one after the other on a connection, each cut in the middle', async () => {
    const { port } = await chargingServer(kind)
    const socket = openSocket(port)
    for (const message of [...MESSAGES, ...MESSAGES.toReversed()]) {
      const bytes = bytesOf(message)
      const half = bytes.length >> 1
      const answer = await ask(socket, bytes.subarray(0, half), bytes.subarray(half))
      expect(answer).toMatchObject({ status: 200, body: answerTo(message) })
    }
    socket.destroy()
  })

  it.each(MESSAGES)('$fileType, $name, and another in one piece are answered', async (message) => {
    const { port } = await chargingServer(kind)
    const socket = openSocket(port)
    const other = MESSAGES[(MESSAGES.indexOf(message) + 4) % MESSAGES.length] as Message
    await socket.send(Buffer.concat([bytesOf(message), bytesOf(other)]))
    if (kind === 'javascript') {
      for (const each of [message, other]) {
        expect(await socket.answer()).toMatchObject({ status: 200, body: answerTo(each) })
      }
      socket.destroy()
      return
    }
    await socket.closed()
    expect(await socket.answer()).toBeNull()
  })
})
