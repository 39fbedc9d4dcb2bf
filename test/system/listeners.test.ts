/**
 * The product with two event-loop threads (`realtime.listeners`), as clients and operators see it.
 */
import { once } from 'node:events'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect as openConnection, type Socket } from 'node:net'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FIRST_SID, populate } from '../support/product/population.ts'
import { type Product, startProduct } from '../support/product/product.ts'
import { openSocket, post as rawPost } from '../support/realtime/http/socket.ts'
import { audited, CREDITS, FAST_EXPIRY, seedOf } from '../support/system/audited.ts'
import { Auditor } from '../support/system/auditor.ts'
import { tollgate } from '../support/system/command.ts'
import { post } from '../support/system/exchange.ts'
import { runWorkload } from '../support/system/workload.ts'
import { waitUntil } from '../support/wait.ts'

const seed = seedOf()
const SESSIONS = 300
/** Requests of each of two sessions of one account. */
const NUMBERS = 64
const AUDITED = audited((2 * SESSIONS) / 1000)
const FAULTS = pathToFileURL(join(import.meta.dirname, '../support/system/loop-faults.mjs')).href

let product: Product
let auditor: Auditor
let fault: string
const environment: Record<string, string> = {
  ...FAST_EXPIRY,
  TOLLGATE_REALTIME_LISTENERS: '2',
  TOLLGATE_REALTIME_WORKERS: '1',
  NODE_OPTIONS: `--import=${FAULTS}`,
}

beforeAll(async () => {
  product = await startProduct({ appendfsync: 'always', environment })
  fault = join(product.folder, 'fault')
  environment['TEST_LOOP_FAULT'] = fault
  await populate({ ...product, ...AUDITED, credits: CREDITS })
  auditor = new Auditor(product, AUDITED)
  await product.start('realtime')
  await product.start('admin')
})
afterAll(() => product?.stop())

const work = (round: number, goesOn: () => boolean, onSession: (count: number) => void) =>
  runWorkload({
    seed: seed + round,
    port: product.realtimePort,
    sessions: SESSIONS,
    clients: 24,
    ...AUDITED,
    patienceMs: 60_000,
    goesOn,
    onSession,
  })

/** Samples of a metric of the realtime process. */
async function metric(name: string): Promise<{ labels: string; value: number }[]> {
  const text = await (await fetch(`${product.adminUrl}/metrics`)).text()
  const found = [...text.matchAll(new RegExp(`^${name}\\{(.*role="realtime")\\} (\\d+)$`, 'gm'))]
  return found.map(([, labels = '', value]) => ({ labels, value: Number(value) }))
}

const sum = (values: readonly { value: number }[]) =>
  values.reduce((total, { value }) => total + value, 0)

describe(`two event-loop threads, seed ${seed}`, () => {
  it('charge the same sessions over any connection, without a difference', async () => {
    const truths = await work(
      1,
      () => false,
      () => undefined,
    )
    expect(truths.filter((truth) => truth.opened).length).toBeGreaterThan(SESSIONS / 2)
    expect(await auditor.audit(truths)).toEqual([])
    expect(await tollgate(product, ['audit'])).toMatchObject({ code: 0, stderr: '' })
    let byLoop = await metric('tollgate_loop_requests_total')
    // A snapshot is up to a second old.
    await waitUntil('metrics of both', async () => {
      byLoop = await metric('tollgate_loop_requests_total')
      return byLoop.length === 2 && sum(byLoop) === sum(await metric('tollgate_requests_total'))
    })
    expect(Math.min(...byLoop.map(({ value }) => value))).toBeGreaterThan(sum(byLoop) / 10)
    expect(await metric('process_resident_memory_bytes')).toHaveLength(1)
  })

  it('lose nothing acknowledged when they are killed or stopped under load', async () => {
    let isGoing = true
    let finished = 0
    const progress = async (what: string) => {
      const before = finished
      await waitUntil(`sessions finish ${what}`, () => finished >= before + 24)
    }
    const load = work(
      2,
      () => isGoing,
      (count) => {
        finished = count
      },
    )
    const ends = (async () => {
      await progress('at first')
      await product.kill9('realtime')
      await product.start('realtime')
      await progress('after the kill')
      expect(await product.terminate('realtime')).toBe(0)
      await product.start('realtime')
      await progress('after the end')
    })().finally(() => {
      isGoing = false
    })
    const [truths] = await Promise.all([load, ends])
    expect(await auditor.audit(truths)).toEqual([])
  })

  it('charge one account over connections of both without conflicts', async () => {
    // Counters begin at 0.
    await product.terminate('realtime')
    await product.start('realtime')
    const connections = Array.from({ length: 16 }, () => openSocket(product.realtimePort))
    const charge = async (number: number, session: string) => {
      const record_type = number === 0 ? 'start_request' : 'update_request'
      const usage = { sid: FIRST_SID, usaget: 'data', usagev: 1 }
      const message = { record_type, session_id: session, request_num: number, ...usage }
      const socket = connections[number % connections.length]
      await socket?.send(rawPost(JSON.stringify(message)))
      expect((await socket?.answer())?.body).toContain('"returnCode":1')
    }
    for (let number = 0; number < NUMBERS; number += 1) {
      // In turn: each commit changes the account that the other session uses.
      for (const session of ['conflict-1', 'conflict-2']) await charge(number, session)
    }
    for (const socket of connections) socket.destroy()
    let byLoop: readonly { value: number }[] = []
    await waitUntil('all are counted', async () => {
      byLoop = await metric('tollgate_loop_requests_total')
      return sum(byLoop) === 2 * NUMBERS
    })
    expect(Math.min(...byLoop.map(({ value }) => value))).toBeGreaterThan(0)
    // The account may have been charged by another worker before its route was learned.
    expect(sum(await metric('tollgate_commit_conflicts_total'))).toBeLessThanOrEqual(1)
  })

  it('end in order with code 1 when one of them has a defect, and log which', async () => {
    const before = await connect(product.realtimePort)
    writeFileSync(fault, '')
    expect(await exitCode()).toBe(1)
    const log = readFileSync(join(product.folder, 'realtime.log'), 'utf8')
    expect(log).toContain('event loop 1: a defect of the test')
    expect(log).not.toContain('Assertion')
    before.destroy()
    rmSync(fault)
  })

  it('exit with code 1 on a second signal, even with pending requests', async () => {
    await product.start('realtime')
    const pid = product.pid('realtime')
    process.kill(product.pid('redis'), 'SIGSTOP')
    try {
      const start = { record_type: 'start_request', sid: FIRST_SID, usaget: 'data', usagev: 1 }
      const waiting = Array.from({ length: 16 }, (_, index) =>
        post(product.realtimePort, { ...start, session_id: `late-${index}`, request_num: 0 }),
      )
      const cut = Promise.allSettled(waiting)
      await post(product.realtimePort, { record_type: 'none' })
      process.kill(pid, 'SIGTERM')
      await waitUntil('it is not ready', async () => {
        const health = await fetch(`${product.realtimeUrl}/health/ready`).catch(() => null)
        return health === null || health.status === 503
      })
      process.kill(pid, 'SIGTERM')
      expect(await exitCode()).toBe(1)
      await cut
    } finally {
      process.kill(product.pid('redis'), 'SIGCONT')
    }
  })
})

/** Waits until the realtime process ends, without a signal. */
async function exitCode(): Promise<number | null> {
  const pid = product.pid('realtime')
  await waitUntil('the process ends', () => !existsSync(`/proc/${pid}`))
  return product.terminate('realtime')
}

async function connect(port: number): Promise<Socket> {
  const socket = openConnection({ port, host: '127.0.0.1' })
  await once(socket, 'connect')
  // The ending process resets the connection.
  socket.on('error', () => undefined)
  return socket
}
