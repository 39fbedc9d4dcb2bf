/** Streams on a real HTTP server, with samples that the test makes. */
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { afterEach, expect, it, vi } from 'vitest'
import type { FollowedCaller } from '../../../src/admin/auth/auth-guard.ts'
import type { MadeSample } from '../../../src/admin/live/sampler.ts'
import { createStreams, type LiveStreams } from '../../../src/admin/live/stream.ts'
import { silent } from '../../support/recorder/accounts.ts'

interface Source {
  server: Server
  streams: LiveStreams
  listeners: Set<(made: MadeSample) => void>
  port: number
}

const open: { close(): void }[] = []
afterEach(() => {
  vi.useRealTimers()
  for (const each of open.splice(0)) each.close()
})

async function startSource(caller: FollowedCaller): Promise<Source> {
  const listeners = new Set<(made: MadeSample) => void>()
  const streams = createStreams({
    log: silent,
    sampler: {
      watch(listener) {
        listeners.add(listener)
        return () => {
          listeners.delete(listener)
        }
      },
    },
  })
  const server = createServer((_, response) => streams.open(caller, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  open.push({ close: () => server.closeAllConnections() }, server)
  return { server, streams, listeners, port: (server.address() as AddressInfo).port }
}

const ADMITTED: FollowedCaller = { key: 'session a', check: async () => 'admitted' }

async function view(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  open.push({ close: () => socket.destroy() })
  socket.write('GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n')
  await once(socket, 'connect')
  return socket
}

function sampleOf(text: string): MadeSample {
  return { sample: { time: 1_000 }, json: JSON.stringify({ text }) } as unknown as MadeSample
}

it('a reader that reads nothing is cut off; others get every sample', async () => {
  const { port, listeners } = await startSource(ADMITTED)
  const slow = await view(port)
  slow.pause()
  const quick = await view(port)
  let received = 0
  quick.on('data', (data: Buffer) => {
    received += data.toString().split('event: sample').length - 1
  })
  await expect.poll(() => listeners.size).toBe(2)
  let sent = 0
  const text = 'x'.repeat(32 * 1024)
  const send = async () => {
    sent += 1
    for (const listener of listeners) listener(sampleOf(text))
    // The quick reader takes it before the next one.
    await expect.poll(() => received, { interval: 1 }).toBe(sent)
    return listeners.size
  }
  // Until the buffers of the system are full, and 64 KB more.
  while ((await send()) === 2) expect(sent).toBeLessThan(10_000)
  expect(listeners.size).toBe(1)
  slow.resume()
  await once(slow, 'close')
  expect(quick.destroyed).toBe(false)
}, 60_000)

it('an outage of the stores does not end a stream at once, an ended session does', async () => {
  let answer: () => ReturnType<FollowedCaller['check']> = () => Promise.reject(new Error('away'))
  let checks = 0
  const { port } = await startSource({
    key: 'session a',
    check: () => {
      checks += 1
      return answer()
    },
  })
  const socket = await view(port)
  let text = ''
  socket.on('data', (data: Buffer) => {
    text += data.toString()
  })
  await expect.poll(() => checks).toBeGreaterThan(2)
  expect(text).not.toContain('event: end')
  answer = async () => 'refused'
  await expect.poll(() => text).toContain('event: end\ndata: {"reason":"role"}\n\n')
})

it.each([
  ['ended', 'session'],
  ['refused', 'role'],
] as const)(
  'a caller that is %s is cut off within half a second of its check',
  async (end, reason) => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    let answer: Awaited<ReturnType<FollowedCaller['check']>> = 'admitted'
    const { port } = await startSource({ key: 'session a', check: async () => answer })
    const socket = await view(port)
    let text = ''
    socket.on('data', (data: Buffer) => {
      text += data.toString()
    })
    await expect.poll(() => text).toContain('retry')
    await vi.advanceTimersByTimeAsync(60_000)
    expect(text).not.toContain('event: end')
    answer = end
    // A user is cached for the other half of the promised second.
    await vi.advanceTimersByTimeAsync(500)
    await expect.poll(() => text).toContain(`event: end\ndata: {"reason":"${reason}"}\n\n`)
  },
)

it('a stream without samples has heartbeats', async () => {
  const { port } = await startSource(ADMITTED)
  const socket = await view(port)
  let text = ''
  socket.on('data', (data: Buffer) => {
    text += data.toString()
  })
  await expect.poll(() => text).toContain('\n:\n\n')
  expect(text).toContain('retry: 2000\n\n')
})
