/** Many sessions that end at the same time, and other sessions that continue. */
import { performance } from 'node:perf_hooks'
import { type Answer, Client, ConnectionLostError } from '../test/support/product/charge-client.ts'
import { FIRST_SID } from '../test/support/product/population.ts'
import type { Product } from '../test/support/product/product.ts'
import { DiameterClient } from './diameter-client.ts'
import { gatewayRequest, MIB } from './diameter-messages.ts'
import { resultCodeOf } from './generator/diameter-link.ts'

export type ReleaseProtocol = 'diameter' | 'json' | 'keyValue'

export interface MassRelease {
  protocol: ReleaseProtocol
  /** Prefix of the session ids. */
  run: string
  sessions: number
  subscribers: number
  connections: number
  /** Releases under way at a time; by default as many as the protocol allows. */
  underWay?: number
}

/** Number of answers by Result-Code, or by HTTP status and return code. */
export type Answers = Record<string, number>

/** Bytes requested by a session in each service, and reported as used at its end. */
export const REQUESTED = MIB
export const USED = MIB / 2
/** Starts under way at a time. */
const STARTS = 64

const sidOf = ({ subscribers }: MassRelease, session: number) => FIRST_SID + (session % subscribers)

/** Opens the sessions, a few at a time; throws if one is not granted. */
export async function openSessions(product: Product, mass: MassRelease): Promise<void> {
  const { answers } = await sendAll(product, mass, 'start', STARTS)
  const granted = answers[grantedBy(mass.protocol)] ?? 0
  if (granted !== mass.sessions) throw new Error(`starts: ${JSON.stringify(answers)}`)
}

/** Ends all sessions at the same time. */
export function releaseAll(product: Product, mass: MassRelease) {
  return sendAll(product, mass, 'release', mass.underWay ?? mass.sessions)
}

export function grantedBy(protocol: ReleaseProtocol): string {
  return protocol === 'diameter' ? '2001' : '200 1'
}

type Kind = 'start' | 'release'

async function sendAll(product: Product, mass: MassRelease, kind: Kind, underWay: number) {
  const answers: Answers = {}
  const startMs = performance.now()
  const send =
    mass.protocol === 'diameter' ? diameterSender(product, mass) : httpSender(product, mass)
  // A connection over HTTP has one request under way.
  const possible = mass.protocol === 'diameter' ? mass.sessions : mass.connections
  const walkers = Math.min(underWay, possible, mass.sessions)
  let next = 0
  const walk = async (walker: number) => {
    while (next < mass.sessions) {
      const session = next
      next += 1
      const answer = await send.one(kind, session, walker)
      answers[answer] = (answers[answer] ?? 0) + 1
    }
  }
  await Promise.all(Array.from({ length: walkers }, (_, at) => walk(at)))
  send.close()
  return { answers, seconds: (performance.now() - startMs) / 1000 }
}

interface Sender {
  /** Returns the kind of its answer. */
  one(kind: Kind, session: number, walker: number): Promise<string>
  close(): void
}

function diameterSender(product: Product, mass: MassRelease): Sender {
  const clients = Array.from(
    { length: mass.connections },
    (_, index) =>
      new DiameterClient({ port: product.diameterPort, originHost: `gw${index}.example.net` }),
  )
  return {
    async one(kind, session) {
      const client = clients[session % clients.length] as DiameterClient
      const request = gatewayRequest({
        sessionId: `${mass.run};${session};`,
        type: kind === 'start' ? 1 : 3,
        number: kind === 'start' ? 0 : 1,
        msisdn: `88800${String(sidOf(mass, session)).padStart(9, '0')}`,
        used: USED,
        requested: REQUESTED,
      })
      return String(resultCodeOf(await client.send(request)))
    },
    close() {
      for (const client of clients) client.close()
    },
  }
}

function httpSender(product: Product, mass: MassRelease): Sender {
  const isJson = mass.protocol === 'json'
  const clients = Array.from({ length: mass.connections }, () =>
    isJson
      ? new Client(product.realtimePort)
      : new Client(product.realtimePort, '/realtime/keyvalue', 'application/x-www-form-urlencoded'),
  )
  const mark = isJson ? '"returnCode":' : 'returnCode='
  return {
    async one(kind, session, walker) {
      const client = clients[walker % clients.length] as Client
      const fields = {
        record_type: `${kind}_request`,
        session_id: `${mass.run}-${session}`,
        request_num: kind === 'start' ? 0 : 1,
        ...(kind === 'start' ? { sid: sidOf(mass, session) } : {}),
        usaget: 'data',
        rating_group: 10,
        ...(kind === 'start' ? { usagev: REQUESTED } : { used_usagev: USED }),
      }
      const pairs = Object.entries(fields).map(([name, value]) => `${name}=${value}`)
      const text = isJson ? JSON.stringify(fields) : pairs.join('&')
      const { status, body } = await postWithRetry(client, text)
      const code = /^-?\d+/.exec(body.slice(body.indexOf(mark) + mark.length))?.[0] ?? ''
      return `${status} ${code}`
    },
    close() {
      for (const client of clients) client.close()
    },
  }
}

/** Repeats the request on a new connection: a full accept queue drops some connections. */
async function postWithRetry(client: Client, body: string): Promise<Answer> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await client.post(body)
    } catch (error) {
      if (!(error instanceof ConnectionLostError) || attempt === ATTEMPTS) throw error
    }
  }
}

const ATTEMPTS = 5

export interface Beside {
  answers: Answers
  /** Latency of the answers, ms. */
  p50: number
  p99: number
}

/**
 * Sessions that report usage and request more after each answer, until `stop`. They use the first
 * subscribers.
 */
export async function startUpdates(product: Product, run: string, sessions: number) {
  const latencies: number[] = []
  const answers: Answers = {}
  let isOver = false
  const walk = async (session: number) => {
    const client = new Client(product.realtimePort)
    const id = { session_id: `${run}-${session}`, usaget: 'data', rating_group: 10 }
    const post = async (fields: object) => {
      const { status, body } = await client.post(JSON.stringify({ ...id, ...fields }))
      return `${status} ${JSON.parse(body).returnCode}`
    }
    const sid = FIRST_SID + session
    await post({ record_type: 'start_request', request_num: 0, sid, usagev: REQUESTED })
    for (let number = 1; !isOver; number += 1) {
      const volumes = { usagev: REQUESTED, used_usagev: USED }
      const sentMs = performance.now()
      const answer = await post({ record_type: 'update_request', request_num: number, ...volumes })
      latencies.push(performance.now() - sentMs)
      answers[answer] = (answers[answer] ?? 0) + 1
    }
    client.close()
  }
  const walking = Promise.all(Array.from({ length: sessions }, (_, session) => walk(session)))
  return {
    /** Discards the measurements so far. */
    begin() {
      latencies.length = 0
      for (const answer of Object.keys(answers)) delete answers[answer]
    },
    figures(): Beside {
      const sorted = [...latencies].sort((a, b) => a - b)
      const at = (share: number) => sorted[Math.floor(sorted.length * share)] ?? 0
      return { answers: { ...answers }, p50: at(0.5), p99: at(0.99) }
    },
    async stop() {
      isOver = true
      await walking
    },
  }
}
