/**
 * Fragmented, silent, greedy or damaged connections to the real product: other clients are served
 * meanwhile, and ledger and lines agree at the end.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { gatewayRequest } from '../../../bench/diameter-messages.ts'
import { streamBacklog } from '../../../src/ledger/streams.ts'
import {
  readMessage,
  textOf,
  uint32Of,
} from '../../../src/realtime/codecs/diameter-wire/message.ts'
import {
  avpCode,
  command,
  flags,
  isProtocolError,
} from '../../../src/realtime/codecs/diameter-wire/protocol.ts'
import type { NamedAvps } from '../../../src/realtime/diameter/named.ts'
import { FIRST_SID } from '../../support/product/population.ts'
import { FAST_EXPIRY, seedOf } from '../../support/system/audited.ts'
import { tollgate } from '../../support/system/command.ts'
import {
  creditControl,
  dataSession,
  GATEWAY,
  NODE,
  NODE_SETTINGS,
  subscription,
} from '../../support/system/diameter/gateway-requests.ts'
import {
  capabilitiesOf,
  connectLink,
  type Link,
  requestBytes,
} from '../../support/system/diameter/link.ts'
import { mutated, withDamagedHeader } from '../../support/system/diameter/mutations.ts'
import { capabilities, openRaw, type RawLink } from '../../support/system/diameter/raw.ts'
import {
  MONEY,
  money,
  openFiles,
  startNode,
  type TestNode,
} from '../../support/system/outages/node.ts'
import { Random } from '../../support/system/random.ts'
import { waitUntil } from '../../support/wait.ts'

const seed = seedOf()
const CASES = Number(process.env['DIAMETER_CASES'] ?? 3000)
/** Concurrent connections. */
const ABREAST = 64
const CROWD = 1000
const MIB = 1024 * 1024
/** Permitted growth from garbage collection and caches. */
const GROWTH_BYTES_MAX = 96 * MIB
/** Micros of one message in the demo catalogue. */
const SMS_PRICE = 40_000

let node: TestNode
let link: Link
/** Files and sockets that the node has open before any connection. */
let files = 0
const port = () => node.product.diameterPort

beforeAll(async () => {
  const environment = {
    ...NODE_SETTINGS,
    ...FAST_EXPIRY,
    TOLLGATE_DIAMETER_OUTPUT_BYTES_MAX: '65536',
    TOLLGATE_DIAMETER_WATCHDOG_MS: '8000',
    TOLLGATE_DIAMETER_CAPABILITIES_TIMEOUT_MS: '60000',
  }
  node = await startNode({ subscribers: 24, environment })
  await node.product.start('realtime')
  await node.product.start('admin')
  files = openFiles(node.product.pid('realtime'))
  link = await connectLink({ port: port(), identity: GATEWAY })
})
afterAll(async () => {
  await link?.close()
  await node?.stop()
})

const ccr = (avps: NamedAvps, id: number) => requestBytes(command.creditControl, id, avps)

/** An event with the given session id. */
function event(name: string, index: number, action = 0): NamedAvps {
  return creditControl(name, 'event', 0, {
    'Service-Context-Id': '32274@3gpp.org',
    'Requested-Action': action,
    ...subscription(FIRST_SID + index),
    'Requested-Service-Unit': { 'CC-Service-Specific-Units': 1 },
  })
}

let sessions = 0

/** A complete session of another client, all of which must be answered. */
async function charge(index: number): Promise<void> {
  sessions += 1
  const one = dataSession(`hostile;good ${sessions}`, index)
  for (const avps of [
    one.initial(5),
    one.update(1, { asked: 5, used: 5 }),
    one.termination(2, 5),
  ]) {
    await waitUntil('a definite answer', async () => {
      const { named } = await link.ask(command.creditControl, avps)
      if (named['Result-Code'] !== 3004) expect(named).toMatchObject({ 'Result-Code': 2001 })
      return named['Result-Code'] === 2001
    })
  }
}

describe('a stream of CER and requests', () => {
  const COUNT = 5
  const stream = Buffer.concat([
    capabilities(GATEWAY),
    ...Array.from({ length: COUNT }, (_, n) => ccr(event(`hostile;cut ${n}`, 0), n + 2)),
  ])
  const answersOf = async (raw: RawLink) => {
    await raw.received(1 + COUNT)
    const idOf = (bytes: Buffer) => bytes.readUInt32BE(12)
    // Requests may finish in any order.
    const sorted = [...raw.messages].sort((one, other) => idOf(one) - idOf(other))
    raw.socket.destroy()
    return sorted.map((bytes) => bytes.toString('hex'))
  }
  let expected: string[] = []

  beforeAll(async () => {
    const whole = await openRaw(port())
    whole.socket.write(stream)
    expected = await answersOf(whole)
  })

  it('in one piece is answered, each request', async () => {
    const codes = expected.map((hex) => {
      return uint32Of(readMessage(Buffer.from(hex, 'hex')).avps, avpCode.resultCode)
    })
    expect(codes).toEqual(Array(1 + COUNT).fill(2001))
  })

  it('cut at any point into two is answered the same, and charged once', async () => {
    for (let from = 1; from < stream.length; from += ABREAST) {
      const cuts = Array.from({ length: ABREAST }, (_, n) => from + n)
      const raws = await Promise.all(
        cuts.filter((cut) => cut < stream.length).map(() => openRaw(port())),
      )
      for (const [n, { socket }] of raws.entries()) socket.write(stream.subarray(0, from + n))
      // Sockets are read in order of arrival: the first parts have been read.
      await link.ask(command.watchdog, GATEWAY)
      for (const [n, { socket }] of raws.entries()) socket.write(stream.subarray(from + n))
      for (const raw of raws) expect(await answersOf(raw)).toEqual(expected)
    }
    expect(await node.moneyOf(FIRST_SID)).toMatchObject({ spent: COUNT * SMS_PRICE, reserved: 0 })
  })

  it('sent byte by byte is answered the same', async () => {
    const raw = await openRaw(port())
    for (let at = 0; at < stream.length; at += 1) {
      raw.socket.write(stream.subarray(at, at + 1))
      await link.ask(command.watchdog, GATEWAY)
    }
    expect(await answersOf(raw)).toEqual(expected)
  })
})

describe('a thousand silent connections', () => {
  it('have no effect on other clients', async () => {
    const pid = node.product.pid('realtime')
    const idle = await Promise.all(Array.from({ length: CROWD }, () => openRaw(port())))
    await waitUntil('all of them', () => openFiles(pid) >= files + CROWD)
    for (let count = 0; count < 5; count += 1) await charge(1)
    expect(await node.moneyOf(FIRST_SID + 1)).toEqual(money(50, 0))
    expect(idle.every(({ messages }) => messages.length === 0)).toBe(true)
    for (const { socket } of idle) socket.destroy()
    // Drivers may have opened a few more meanwhile.
    await waitUntil('their end', () => openFiles(pid) < files + CROWD / 10)
  })
})

describe('connections that are reset before their answers', () => {
  it('leave no pending request, and nothing open', async () => {
    for (let round = 0; round < 10; round += 1) {
      const raws = await Promise.all(Array.from({ length: ABREAST }, () => openRaw(port())))
      for (const [n, { socket }] of raws.entries()) {
        const name = `hostile;reset ${round} ${n}`
        const requests = [0, 1, 2].map((id) => ccr(event(`${name} ${id}`, 22), id + 2))
        socket.write(Buffer.concat([capabilities(GATEWAY), ...requests]))
      }
      for (const { socket } of raws) socket.resetAndDestroy()
    }
    await charge(21)
    const pid = node.product.pid('realtime')
    await waitUntil('their end', () => openFiles(pid) < files + ABREAST)
    await waitUntil('no pending request', async () => {
      const text = await (await fetch(`${node.product.adminUrl}/metrics`)).text()
      return /^tollgate_in_flight\{.*role="realtime"\} 0$/m.test(text)
    })
    // Every request that arrived is charged once.
    const { spent, reserved } = await node.moneyOf(FIRST_SID + 22)
    expect([spent % SMS_PRICE, reserved]).toEqual([0, 0])
    expect(spent).toBeLessThanOrEqual(3 * 10 * ABREAST * SMS_PRICE)
  })
})

describe('a peer that sends thousands of requests and reads no answers', () => {
  it('is no longer read and is disconnected; other clients are served meanwhile', async () => {
    const memoryBytes = () => {
      const status = readFileSync(`/proc/${node.product.pid('realtime')}/status`, 'utf8')
      return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) * 1024
    }
    const batch = Buffer.concat(
      Array.from({ length: 500 }, (_, n) => ccr(event(`hostile;greedy ${n}`, 2 + (n % 8), 3), n)),
    )
    const raw = await openRaw(port())
    raw.socket.write(capabilities(GATEWAY))
    // It reads at first, so that memory is compared with that of a process under load.
    for (let count = 0; count < 10; count += 1) raw.socket.write(batch)
    await raw.received(1 + 10 * 500)
    const before = memoryBytes()
    raw.socket.pause()
    let sent = 0
    let isGone = false
    const pump = () => {
      while (!isGone && raw.socket.writable && raw.socket.writableLength === 0) {
        raw.socket.write(batch)
        sent += 500
      }
    }
    raw.socket.on('drain', pump)
    void raw.closed.then(() => {
      isGone = true
    })
    pump()
    let most = 0
    const isDisconnected = () => logOf().includes('does not read its answers')
    await waitUntil('the end of it', async () => {
      await charge(10)
      most = Math.max(most, memoryBytes())
      return isGone || isDisconnected()
    })
    expect(sent).toBeGreaterThan(5000)
    expect(most).toBeLessThan(before + GROWTH_BYTES_MAX)
    raw.socket.destroy()
    await charge(10)
    for (const index of [2, 9]) {
      expect(await node.moneyOf(FIRST_SID + index)).toMatchObject({ credited: MONEY, spent: 0 })
    }
  })
})

const logOf = () => readFileSync(join(node.product.folder, 'realtime.log'), 'utf8')

describe(`damaged requests, seed ${seed}`, () => {
  const random = new Random(seed)
  const PROXY = { 'Proxy-Host': 'proxy.client.example', 'Proxy-State': 'abc' }
  /** Any request of a session, an event, or the base protocol. */
  const valid = (id: number): Buffer => {
    const index = 11 + random.below(10)
    const name = `hostile;damaged ${random.below(40)}`
    const one = dataSession(name, index)
    const number = random.below(4)
    const ofCredit = (avps: NamedAvps) => ccr({ ...avps, 'Proxy-Info': PROXY }, id)
    const ofGateway = () => {
      const type = random.pick([1, 2, 3] as const)
      const msisdn = `88800${String(one.sid).padStart(9, '0')}`
      const units = { used: MIB, requested: MIB }
      const bytes = gatewayRequest({ sessionId: name, type, number, msisdn, ...units })
      bytes.writeUInt32BE(id, 12)
      return bytes
    }
    return random.pick([
      ofGateway,
      () => ofCredit(one.initial(5)),
      () => ofCredit({ ...one.update(number, { asked: 5, used: 5 }), ...subscription(one.sid) }),
      () => ofCredit(one.update(number, { asked: 1, used: 2 })),
      () => ofCredit(one.termination(number, 1)),
      () => ofCredit(event(`${name} event ${id}`, index, number)),
      () => requestBytes(command.watchdog, id, { ...GATEWAY, 'Origin-State-Id': 1 }),
      () => requestBytes(command.disconnectPeer, id, { ...GATEWAY, 'Disconnect-Cause': 0 }),
      () => requestBytes(command.capabilitiesExchange, id, capabilitiesOf(GATEWAY)),
    ])()
  }

  /** Sends a single request on a new connection; returns the messages after the CEA. */
  const exchange = async (bytes: Buffer): Promise<Buffer[]> => {
    const raw = await openRaw(port())
    raw.socket.end(Buffer.concat([capabilities(GATEWAY), bytes]))
    await raw.closed
    return raw.messages.slice(1)
  }

  it(`are answered, or end their connection: ${CASES}`, async () => {
    const codes = new Set<number>()
    for (let done = 0; done < CASES; done += ABREAST) {
      const cases = Array.from({ length: ABREAST }, (_, n) => {
        const whole = valid(done + n + 100)
        const hasDamagedHeader = random.chance(10)
        return {
          hasDamagedHeader,
          bytes: (hasDamagedHeader ? withDamagedHeader : mutated)(whole, random),
        }
      })
      const answers = await Promise.all(cases.map(({ bytes }) => exchange(bytes)))
      for (const [n, { hasDamagedHeader, bytes }] of cases.entries()) {
        const got = answers[n] ?? []
        const what = `case ${done + n}: ${bytes.toString('hex')}`
        if (!hasDamagedHeader) expect(got.length, what).toBe(1)
        for (const each of got) {
          const answer = readMessage(each)
          expect(answer.flags & flags.request, what).toBe(0)
          // A wrong length may split it into two requests.
          if (!hasDamagedHeader) expect(answer.hopByHopId, what).toBe(bytes.readUInt32BE(12))
          const code = uint32Of(answer.avps, avpCode.resultCode) ?? 0
          expect((answer.flags & flags.error) !== 0, what).toBe(isProtocolError(code))
          expect(textOf(answer.avps, avpCode.originHost), what).toBe(NODE['Origin-Host'])
          codes.add(code)
        }
      }
      await charge(21)
    }
    for (const code of [2001, 5001, 5004, 5005, 5009, 5014])
      expect(codes, `${code}`).toContain(code)
  })

  it('leave a healthy node, and a ledger that agrees with the lines', async () => {
    expect((await fetch(`${node.product.realtimeUrl}/health/ready`)).status).toBe(200)
    expect(link.isClosed).toBe(false)
    const defects = logOf()
      .split('\n')
      .filter((line) => /"level":"(error|fatal)"/.test(line))
    expect(defects).toEqual([])
    const { ledger } = node.reader
    await waitUntil('the recorder', async () => (await streamBacklog(ledger)) === 0)
    expect(await tollgate(node.product, ['audit'])).toMatchObject({ code: 0, stderr: '' })
  })
})
