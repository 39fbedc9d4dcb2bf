import { expect, it } from 'vitest'
import { plainOutcome } from '../../src/domain/charge-outcome.ts'
import type { ChargeRequest } from '../../src/domain/charge-request.ts'
import { createAdmission } from '../../src/realtime/admission.ts'
import { createCharge } from '../../src/realtime/charge.ts'
import type { Codec } from '../../src/realtime/codecs/codec.ts'
import type { OnOutcome } from '../../src/realtime/worker-queue.ts'
import { monotonicMs } from '../../src/runtime/clock.ts'
import { createLogger } from '../../src/runtime/log.ts'
import { jsonCodec } from '../support/realtime/codecs/settings.ts'

/** The stages before and after the worker; the test plays the worker. */
function chargeOf(inFlightMax: number) {
  const submitted: { request: ChargeRequest; done: OnOutcome }[] = []
  const counted: string[] = []
  const answers: { reason: string; code: number }[] = []
  const admission = createAdmission({ inFlightMax, reportsBytesMax: 1e6, waitMsMax: 500 })
  const charge = createCharge({
    limits: {
      servicesMax: 4,
      eventAgeMsMax: 1000,
      eventFutureMsMax: 1000,
      zone: 'UTC',
      keptFields: [],
      identifyingFields: [],
      identifies: () => false,
    },
    admission,
    pool: { submit: (request, done) => submitted.push({ request, done }) },
    clock: { nowMs: () => 5_000_000 },
    metrics: {
      request: (outcome, code, _durationMs, peer, fileType) =>
        counted.push(`${outcome} ${code} ${peer} ${fileType}`),
    },
    log: createLogger({ name: 'test', level: 'silent' }),
  })
  const send = (
    message: object | string,
    codec: Codec<unknown> = jsonCodec,
    refuseOverRate: (() => void) | null = null,
  ) => {
    const text = typeof message === 'string' ? message : JSON.stringify(message)
    const body = Buffer.from(text)
    const client = { isGone: false }
    const from = { fileType: 'json', origin: 'element', peer: 'PGW', client, refuseOverRate }
    charge({ body, codec, ...from }, (reason, answer) => {
      answers.push({ reason, code: answer === null ? 0 : JSON.parse(answer).returnCode })
    })
  }
  return { send, submitted, counted, answers, admission }
}

const update = { record_type: 'update_request', session_id: 's' }
const asking = { ...update, usaget: 'data', usagev: 5 }

it('answers with the outcome of the worker', () => {
  const { send, submitted, answers, counted, admission } = chargeOf(1)
  send(update)
  expect(submitted[0]?.request).toMatchObject({ origin: 'element', eventTimeMs: 5_000_000 })
  expect(admission.inFlight).toBe(1)
  expect(answers).toEqual([])
  submitted[0]?.done(plainOutcome('noCredit'), false)
  expect(answers).toEqual([{ reason: 'noCredit', code: -1 }])
  expect(counted).toEqual(['denied -1 PGW json'])
  expect(admission.inFlight).toBe(0)
})

it('answers malformed immediately, without a slot', () => {
  const { send, submitted, answers } = chargeOf(0)
  send('{')
  expect(answers).toEqual([{ reason: 'malformed', code: -20 }])
  expect(submitted).toEqual([])
})

it('answers overloaded immediately if there is no slot, and admits again once there is', () => {
  const { send, submitted, answers, counted } = chargeOf(1)
  send(asking)
  send(asking)
  expect(answers).toEqual([{ reason: 'overloaded', code: -90 }])
  expect(counted).toEqual(['failed -90 PGW json'])
  submitted[0]?.done(plainOutcome('granted'), false)
  send(asking)
  expect(submitted).toHaveLength(2)
})

it('answers timedOut if the outcome cannot be encoded', () => {
  const { send, submitted, answers, admission } = chargeOf(1)
  send(update)
  submitted[0]?.done({ ...plainOutcome('granted'), reason: 'nonsense' as 'granted' }, false)
  expect(answers).toEqual([{ reason: 'timedOut', code: -92 }])
  expect(admission.inFlight).toBe(0)
})

it('answers without a text if nothing can be encoded, and other requests continue', () => {
  const { send, submitted, answers, counted, admission } = chargeOf(1)
  const broken: Codec<unknown> = {
    ...jsonCodec,
    encode() {
      throw new Error('broken')
    },
  }
  send(update, broken)
  expect(() => submitted[0]?.done(plainOutcome('granted'), false)).not.toThrow()
  send(update)
  send(update, broken)
  expect(() => send('{}', { ...broken, decode: skipped })).not.toThrow()
  expect(answers).toEqual(answers.map(() => ({ reason: 'timedOut', code: 0 })))
  expect(counted).toEqual(answers.map(() => 'failed -92 PGW json'))
  expect(answers).toHaveLength(3)
  expect(admission.inFlight).toBe(1)
})

/** A message without any service to charge. */
function skipped() {
  return { ok: true, request: null, envelope: null } as const
}

it('refuses a message whose decoder fails, and accepts the next one', () => {
  const { send, submitted, answers, admission } = chargeOf(1)
  const decode = () => {
    throw new RangeError('Maximum call stack size exceeded')
  }
  send(update, { ...jsonCodec, decode })
  expect(answers).toEqual([{ reason: 'malformed', code: -20 }])
  send(update)
  expect([submitted.length, admission.inFlight]).toEqual([1, 1])
})

it('limits the rate of a peer, but neither usage reports nor terminations', () => {
  const { send, submitted, answers } = chargeOf(10)
  const session = { session_id: 's', usaget: 'data' }
  const over: string[] = []
  const messages = {
    start: { record_type: 'start_request', ...session, sid: 1, usagev: 5 },
    asks: { record_type: 'update_request', ...session, usagev: 5 },
    pretends: { record_type: 'release_request', ...session, pretend: true },
    reports: { record_type: 'update_request', ...session, usagev: 5, used_usagev: 5 },
    settles: { record_type: 'update_request', ...session },
    ends: { record_type: 'release_request', ...session },
    broken: '{',
  }
  for (const [name, message] of Object.entries(messages)) {
    send(message, jsonCodec, () => over.push(name))
  }
  expect(over).toEqual(['start', 'asks', 'pretends', 'broken'])
  expect(submitted).toHaveLength(3)
  expect(answers).toEqual([])
})

it('answers notCharged to a report that waited too long', () => {
  const { send, answers, admission } = chargeOf(1)
  send(asking)
  send({ ...asking, session_id: 'other', used_usagev: 5 })
  expect(answers).toEqual([])
  admission.tick(monotonicMs() + 10_000)
  expect(answers).toEqual([{ reason: 'overloaded', code: -90 }])
})
