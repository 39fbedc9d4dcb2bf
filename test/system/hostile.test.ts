/**
 * Slow and hostile clients against the real product: other clients get correct answers meanwhile,
 * and afterwards the process has no more resources than before.
 */
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { heldDescriptors } from '../support/descriptors.ts'
import { Client } from '../support/product/charge-client.ts'
import { FIRST_SID, populate } from '../support/product/population.ts'
import { type Product, startProduct } from '../support/product/product.ts'
import { waitUntil } from '../support/wait.ts'

const SUBSCRIBERS = 40
const CLIENTS = 8
const CONNECTIONS_MAX = 1500
const MIB = 1024 * 1024
const HEAD = 'POST /realtime HTTP/1.1\r\nHost: t\r\n'
/**
 * Permitted growth from garbage collection and caches; a leak per connection or request exceeds it.
 */
const GROWTH_BYTES_MAX = 96 * MIB

const KINDS = ['native', 'javascript'] as const

interface Load {
  count(): number
  /** Ends the load; resolves with the number of answers by status and return code. */
  stop(): Promise<Record<string, number>>
}

/** Sessions of well-behaved clients with their own subscribers, until they are stopped. */
function charge(port: number): Load {
  const answers: Record<string, number> = {}
  let total = 0
  let isStopping = false
  run += 1
  const prefix = `good-${run}`
  const one = async (index: number) => {
    const client = new Client(port)
    for (let session = 0; !isStopping; session += 1) {
      const id = `"session_id":"${prefix}-${index}-${session}","sid":${FIRST_SID + index}`
      const service = '"usaget":"data","usagev":1048576'
      for (const [num, kind] of ['start', 'update', 'release'].entries()) {
        const head = `"record_type":"${kind}_request","request_num":${num}`
        const { status, body } = await client.post(`{${head},${id},${service}}`)
        const key = `${status} ${/"returnCode":(-?\d+)/.exec(body)?.[1]}`
        answers[key] = (answers[key] ?? 0) + 1
        total += 1
      }
    }
    client.close()
  }
  const clients = Array.from({ length: CLIENTS }, (_, index) => one(index))
  return {
    count: () => total,
    async stop() {
      isStopping = true
      await Promise.all(clients)
      return answers
    },
  }
}

let run = 0

describe.each(KINDS)('other clients are served on %s during', (httpServer) => {
  let product: Product
  const port = () => product.realtimePort
  const descriptors = () => heldDescriptors(product.pid('realtime'), port())
  /** Names the remaining descriptors, except for two that may be open by chance. */
  const backTo = async (before: readonly string[]) => {
    const isBack = () => descriptors().length <= before.length + 2
    await waitUntil('descriptors to come back', isBack).catch((error: Error) => {
      const more = descriptors().filter((link) => !before.includes(link))
      throw new Error(`${error.message}: ${more.join(' ')}`)
    })
  }
  const memoryBytes = () => {
    const status = readFileSync(`/proc/${product.pid('realtime')}/status`, 'utf8')
    return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) * 1024
  }
  const inFlight = async () => {
    const text = await (await fetch(`${product.adminUrl}/metrics`)).text()
    return /^tollgate_in_flight\{.*role="realtime"\} (\d+)/m.exec(text)?.[1]
  }

  beforeAll(async () => {
    const environment = {
      TOLLGATE_REALTIME_HTTP_SERVER: httpServer,
      TOLLGATE_REALTIME_CONNECTIONS_MAX: String(CONNECTIONS_MAX),
    }
    product = await startProduct({ environment })
    const credits = [{ prepaidIncludeId: 1, amount: 1_000_000_000_000 }]
    await populate({ ...product, subscribers: SUBSCRIBERS, subscribersPerAccount: 1, credits })
    await product.start('realtime')
    await product.start('admin')
    // A first load, so that memory is compared with that of a process under load.
    const load = charge(port())
    await waitUntil('a warm process', () => load.count() > 2_000)
    await load.stop()
  })
  afterAll(async () => {
    await product?.stop()
  })

  /** Attacks under load; the attack resolves at its peak, with its open sockets. */
  async function under(attack: () => Promise<Socket[]>): Promise<void> {
    const pid = product.pid('realtime')
    const before = { descriptors: descriptors(), memory: memoryBytes() }
    const load = charge(port())
    await waitUntil('answers', () => load.count() > 0)
    const sockets = await attack()
    expect(memoryBytes()).toBeLessThan(before.memory + GROWTH_BYTES_MAX)
    const sofar = load.count()
    await waitUntil('answers under attack', () => load.count() > sofar + 100)
    for (const socket of sockets) socket.destroy()
    // Under load: a process at rest does not collect its garbage.
    await waitUntil('memory to come back', () => memoryBytes() < before.memory + GROWTH_BYTES_MAX)
    const answers = await load.stop()
    expect(answers).toEqual({ '200 1': load.count() })
    await backTo(before.descriptors)
    await waitUntil('nothing in flight', async () => (await inFlight()) === '0')
    expect(product.pid('realtime')).toBe(pid)
    expect((await fetch(`${product.realtimeUrl}/health/ready`)).status).toBe(200)
  }

  /** Connections that have sent a text, including refused ones. */
  async function openSockets(count: number, text: string | Buffer): Promise<Socket[]> {
    const sockets = Array.from({ length: count }, () => {
      const socket = connect({ port: port(), host: '127.0.0.1' })
      socket.on('error', () => undefined)
      socket.on('data', () => undefined)
      if (text.length > 0) socket.write(text)
      return socket
    })
    await waitUntil('the connections', () => sockets.every(({ connecting }) => !connecting))
    return sockets
  }

  const start = (id: string) => {
    const sid = FIRST_SID + SUBSCRIBERS - 1
    const service = `"sid":${sid},"usaget":"data","usagev":1,"pretend":true`
    return `{"record_type":"event_request","session_id":"${id}",${service}}`
  }
  const post = (body: string) => `${HEAD}Content-Length: ${body.length}\r\n\r\n${body}`

  it.each([
    ['idle connections', ''],
    ['heads that do not end', `${HEAD}X: y`],
    ['bodies that do not end', `${HEAD}Content-Length: 60000\r\n\r\n${'a'.repeat(1000)}`],
  ])('a thousand %s', (_what, text) =>
    under(async () => {
      const sockets = await openSockets(1000, text)
      await waitUntil('them to be accepted', () => descriptors().length > 1000)
      return sockets
    }),
  )

  it('aborted bodies, a hundred at a time', () =>
    under(async () => {
      for (let round = 0; round < 20; round += 1) {
        const sockets = await openSockets(
          100,
          `${HEAD}Content-Length: 60000\r\n\r\n{"record_type":`,
        )
        for (const socket of sockets) socket.destroy()
      }
      return []
    }))

  it('aborted requests, before their answers', () =>
    under(async () => {
      for (let round = 0; round < 20; round += 1) {
        const sockets = await openSockets(50, post(start(`gone-${round}`)))
        for (const socket of sockets) socket.resetAndDestroy()
      }
      return []
    }))

  it('fifty requests in one piece on a connection', () =>
    under(() =>
      openSockets(50, Array.from({ length: 50 }, (_, n) => post(start(`p-${n}`))).join('')),
    ))

  it('garbage, large heads, and two lengths', () =>
    under(async () => [
      ...(await openSockets(
        100,
        Buffer.from(Array.from({ length: 2000 }, (_, n) => (n * 7) % 256)),
      )),
      ...(await openSockets(20, `${HEAD}X: ${'y'.repeat(1_000_000)}`)),
      ...(await openSockets(50, `${HEAD}${'A: b\r\n'.repeat(2000)}\r\n`)),
      ...(await openSockets(
        50,
        `${HEAD}Content-Length: 0\r\nContent-Length: 9\r\n\r\n${post('{}')}`,
      )),
    ]))

  it.each(['announced', 'in chunks'])('bodies of 10 MB, thirty at a time, %s', async (how) => {
    const body = 'x'.repeat(10 * MIB)
    const isAnnounced = how === 'announced'
    const chunk = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
    const text = isAnnounced
      ? `${HEAD}Content-Length: ${body.length}\r\n\r\n${body}`
      : `${HEAD}Transfer-Encoding: chunked\r\n\r\n${chunk}`
    await under(async () => {
      const sockets = await openSockets(30, text)
      // The answer is sent before the whole body has arrived, and the body is discarded.
      await waitUntil('the answers', () => sockets.every(({ bytesRead }) => bytesRead > 0))
      await waitUntil('what was sent', () =>
        sockets.every(({ writableLength, destroyed }) => writableLength === 0 || destroyed),
      )
      return sockets
    })
  })

  it('more connections than the limit: refused, and accepted again when others close', async () => {
    const before = descriptors()
    const kept = new Client(port())
    expect((await kept.post(start('kept'))).status).toBe(200)
    const isTaken = () => {
      const client = new Client(port())
      const answer = client.post(start('late')).then(
        ({ status }) => status === 200,
        () => false,
      )
      return answer.finally(() => client.close())
    }
    const sockets: Socket[] = []
    await waitUntil('a refusal', async () => {
      sockets.push(...(await openSockets(200, '')))
      await pause(20)
      return !(await isTaken())
    })
    // The native server counts periodically: connections between two counts exceed the limit.
    expect(descriptors().length).toBeLessThan(before.length + 2 * CONNECTIONS_MAX)
    expect((await kept.post(start('kept'))).status).toBe(200)
    kept.close()
    for (const socket of sockets) socket.destroy()
    await waitUntil('room again', isTaken)
    await backTo(before)
  })
})
