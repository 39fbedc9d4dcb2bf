/** Money actions run once per `Idempotency-Key`. */
import { Type } from '@sinclair/typebox'
import { afterEach, describe, expect, it } from 'vitest'
import { DONE_OR_FAILED, moneyAction } from '../../../src/admin/actions/action.ts'
import { sameSpelling } from '../../../src/admin/actions/money-calls.ts'
import { param } from '../../../src/admin/actions/parameters.ts'
import { ActionError } from '../../../src/requests/errors.ts'
import { NOW_MS, useActionServer } from '../../support/admin/actions/action-server.ts'

/** Runs of the action, and what holds them up. */
let runs = 0
let gate: Promise<void> = Promise.resolve()

const move = moneyAction({
  name: 'move',
  level: 'write',
  about: 'Move money',
  parameters: Type.Object({ how: param.optional(param.text('How.')) }),
  answer: { status: DONE_OR_FAILED },
  example: { parameters: {}, answer: {} },
  async run({ how, reason }, call) {
    runs += 1
    const run = runs
    await gate
    if (how === 'refuse') throw new ActionError('refused', 'refused')
    if (how === 'zero') return { status: 0, desc: 'nothing moved' }
    return call.commit('move', async (session) => {
      await call.catalog.carried.insertOne({ run, reason } as never, { session })
      if (how === 'fail') throw new Error('a bug')
      return { details: { run, reason } }
    })
  },
})

const other = moneyAction({
  name: 'other',
  level: 'write',
  about: 'Move other money',
  parameters: Type.Object({}),
  answer: {},
  example: { parameters: {}, answer: {} },
  run: (_, call) => call.commit('move', async () => ({ details: 'other' })),
})

const parts = moneyAction({
  name: 'parts',
  level: 'write',
  about: 'Move money in parts',
  parameters: Type.Object({ stop: param.optional(param.text('Stops after the first part.')) }),
  answer: {},
  example: { parameters: {}, answer: {} },
  async run(_, call) {
    const results: unknown[] = []
    for (const part of [0, 1]) {
      if (part === 1 && isInterrupted) throw new Error('interrupted')
      const done = await call.commitPart(part, (commit) =>
        commit('move a part', async (session) => {
          runs += 1
          await call.catalog.carried.insertOne({ part } as never, { session })
          return [`part ${part} of run ${runs}`]
        }),
      )
      results.push(...done)
    }
    return call.commit('finish', async () => ({ details: results }))
  },
})
let isInterrupted = false

const api = useActionServer([move, other, parts])
const moved = () => api.catalog().carried.countDocuments()

afterEach(async () => {
  api.at(NOW_MS)
  isInterrupted = false
  gate = Promise.resolve()
  runs = 0
  await api.catalog().carried.deleteMany({})
  await api.catalog().idempotency.deleteMany({})
})

it.each([
  [10, '10.00', true],
  ['-0.0', 0, true],
  ['0.10', 0.1, true],
  ['100', '1', false],
  ['007', '7', false],
  ['1.0.0', '1', false],
  ['12345678901234567890.10', '12345678901234567890.1', true],
  ['12345678901234567891', '12345678901234567892', false],
  ['{"a":1}', { a: '1.0' }, true],
  ['[1', '[1.0', false],
  [[1, 2], [2, 1], false],
  [true, 'true', true],
])('%j and %j are the same value: %s', (one, other, isSame) => {
  const [a, b] = [one, other].map((value) => JSON.stringify(sameSpelling(value)))
  expect(a === b).toBe(isSame)
})

describe('a repetition', () => {
  it('gets the first answer byte for byte, and moves nothing', async () => {
    const first = await api.ask('move', { reason: 'why' }, { key: 'k' })
    expect(first).toMatchObject({ status: 1, details: { run: 1, reason: 'why' } })
    const second = await api.ask('move', { reason: 'why' }, { key: 'k' })
    expect(second.text).toBe(first.text)
    expect(second.headers.get('content-type')).toBe(first.headers.get('content-type'))
    expect([runs, await moved()]).toEqual([1, 1])
  })

  it('with other parameters is refused', async () => {
    await api.ask('move', { reason: 'why' }, { key: 'k' })
    const answer = await api.ask('move', { reason: 'because' }, { key: 'k' })
    const desc = 'the Idempotency-Key was used for a call with other parameters'
    expect(answer).toMatchObject({ http: 200, status: 0, code: 17577, desc, message: desc })
    expect(await moved()).toBe(1)
  })

  it('with the same values in another spelling is the same call', async () => {
    const first = await api.ask(
      'move',
      { how: '{"b":[1.50,{"y":2,"x":"10.00"}],"a":10}' },
      { key: 'k' },
    )
    const same = [
      { a: '10.0', b: ['1.5', { x: 10, y: '2.000' }] },
      { b: [1.5, { y: 2, x: 10 }], a: 10 },
    ]
    for (const how of same) {
      const again = await api.ask('move', { how: JSON.stringify(how) }, { key: 'k' })
      expect(again.text).toBe(first.text)
    }
    expect(await moved()).toBe(1)
    const other = await api.ask(
      'move',
      { how: '{"b":[1.5,{"y":2,"x":10}],"a":10.01}' },
      { key: 'k' },
    )
    expect(other).toMatchObject({ status: 0, desc: expect.stringContaining('other parameters') })
  })

  it('by another caller, of another action, or without a key is a call of its own', async () => {
    await api.ask('move', {}, { key: 'k' })
    expect(await api.ask('move', {}, { key: 'k', user: 'eve' })).toMatchObject({
      details: { run: 2 },
    })
    expect(await api.ask('other', {}, { key: 'k' })).toMatchObject({ details: 'other' })
    expect(await api.ask('move', {})).toMatchObject({ details: { run: 3 } })
    expect(await moved()).toBe(3)
  })

  it('is recognised for 7 days', async () => {
    await api.ask('move', {}, { key: 'k' })
    api.at(NOW_MS + 7 * 86_400_000 - 1)
    expect(await api.ask('move', {}, { key: 'k' })).toMatchObject({ details: { run: 1 } })
    api.at(NOW_MS + 7 * 86_400_000)
    expect(await api.ask('move', {}, { key: 'k' })).toMatchObject({ details: { run: 2 } })
    expect(await api.catalog().idempotency.countDocuments()).toBe(1)
  })

  it.each([
    ['refuse', 'refused'],
    ['zero', 'nothing moved'],
    ['fail', 'internal error'],
  ])('of a call that moved nothing (%s) runs again', async (how, desc) => {
    expect(await api.ask('move', { how }, { key: 'k' })).toMatchObject({ status: 0, desc })
    expect(await moved()).toBe(0)
    expect(await api.catalog().idempotency.countDocuments()).toBe(0)
    expect(await api.ask('move', {}, { key: 'k' })).toMatchObject({ status: 1 })
  })

  it('waits for the first call, and gets its answer, in another process too', async () => {
    const process = await api.again()
    let open = () => {}
    gate = new Promise((resolve) => {
      open = resolve
    })
    const first = api.ask('move', {}, { key: 'k' })
    await expect.poll(() => runs).toBe(1)
    const others = Array.from({ length: 10 }, (_, index) =>
      (index % 2 === 0 ? api : process).ask('move', {}, { key: 'k' }),
    )
    const isDone = Promise.race(others).then(() => 'done')
    await expect(Promise.race([isDone, Promise.resolve('waits')])).resolves.toBe('waits')
    open()
    const { text } = await first
    for (const answer of await Promise.all(others)) expect(answer.text).toBe(text)
    expect([runs, await moved()]).toEqual([1, 1])
    await process.close()
  })

  it('at once is done once', async () => {
    const calls = Array.from({ length: 50 }, () => api.ask('move', {}, { key: 'k' }))
    const texts = (await Promise.all(calls)).map(({ text }) => text)
    expect(new Set(texts).size).toBe(1)
    expect([runs, await moved()]).toEqual([1, 1])
  })

  it('takes over a call without a sign of life; the first one cannot commit', async () => {
    let open = () => {}
    gate = new Promise((resolve) => {
      open = resolve
    })
    const first = api.ask('move', {}, { key: 'k' })
    await expect.poll(() => runs).toBe(1)
    api.at(NOW_MS + 31_000)
    gate = Promise.resolve()
    const second = await api.ask('move', {}, { key: 'k' })
    expect(second).toMatchObject({ details: { run: 2 } })
    open()
    expect((await first).text).toBe(second.text)
    expect(await moved()).toBe(1)
  })

  it('of an interrupted call in parts continues after its last part', async () => {
    isInterrupted = true
    expect(await api.ask('parts', {}, { key: 'k' })).toMatchObject({ http: 500 })
    expect(await moved()).toBe(1)
    const reused = await api.ask('parts', { stop: 'no' }, { key: 'k' })
    expect(reused['desc']).toMatch(/other parameters/)
    isInterrupted = false
    const answer = await api.ask('parts', {}, { key: 'k' })
    expect(answer['details']).toEqual(['part 0 of run 1', 'part 1 of run 2'])
    expect((await api.ask('parts', {}, { key: 'k' })).text).toBe(answer.text)
    expect(await moved()).toBe(2)
  })
})

describe('a key', () => {
  it.each(['k'.repeat(256), 'a b', 'ä'])('%j is refused', async (key) => {
    // Header values are Latin-1 for fetch.
    const answer = await api.ask('move', {}, { key })
    expect(answer['desc']).toBe('Idempotency-Key must have 1 to 255 visible characters of ASCII')
    expect(await moved()).toBe(0)
  })

  it('may have 255 characters', async () => {
    expect(await api.ask('move', {}, { key: 'k'.repeat(255) })).toMatchObject({ status: 1 })
  })
})
