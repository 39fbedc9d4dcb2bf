/** A node with Diameter for a test; closed after each test. */
import { afterEach } from 'vitest'
import { compilePeers, type Peers } from '../../../../src/catalog/settings/peers/peers.ts'
import { loadConfig } from '../../../../src/config/load.ts'
import type { Config } from '../../../../src/config/schema.ts'
import { baseAnswer } from '../../../../src/realtime/codecs/diameter-wire/base-answer.ts'
import type { DiameterConnection } from '../../../../src/realtime/diameter/connection-context.ts'
import type { Backpressure } from '../../../../src/realtime/diameter/read-throttle.ts'
import {
  type Diameter,
  type DiameterOptions,
  startDiameter,
} from '../../../../src/realtime/diameter/start-diameter.ts'
import type { RateLimits } from '../../../../src/realtime/http/rate-limits.ts'
import { createMetrics } from '../../../../src/runtime/metrics.ts'
import type { TlsMetrics } from '../../../../src/runtime/tls-metrics.ts'
import { closePeers } from './raw-peer.ts'

export const IDENTITY = { originHost: 'ocs.example.net', originRealm: 'example.net' }
export const NOW_MS = 1_790_000_000_000

const open: Diameter[] = []
afterEach(async () => {
  closePeers()
  await Promise.all(open.splice(0).map((node) => node.close()))
})

export interface Line {
  readonly level: 'info' | 'warn' | 'error'
  readonly fields: Record<string, unknown>
  readonly text: string
}

export interface NodeOptions {
  readonly settings?: Partial<Config['diameter']>
  /** As stored; null if they were never read. */
  readonly peers?: readonly object[] | null
  readonly onRequest?: DiameterOptions['onRequest']
  readonly rateLimits?: RateLimits
  readonly backpressure?: Backpressure
}

const KEEPS_UP: Backpressure = { isBehind: false, onCaughtUp: () => undefined }

/** Short times, so that the tests need not wait; none of them is measured. */
const SHORT = { capabilitiesTimeoutMs: 30_000, watchdogMs: 30_000, answerTimeoutMs: 2_000 }

export function settingsOf(settings: Partial<Config['diameter']> = {}): Config['diameter'] {
  return { ...loadConfig({ env: {} }).diameter, port: 0, ...SHORT, ...settings }
}

/** A node that answers each credit-control request with 2001, immediately by default. */
export async function nodeOf(options: NodeOptions = {}) {
  const { settings = {}, peers = [], onRequest, rateLimits, backpressure = KEEPS_UP } = options
  const lines: Line[] = []
  const write = (level: Line['level']) => (fields: object, text: string) => {
    lines.push({ level, fields: { ...fields }, text })
  }
  const counted = createMetrics({ node: 'test', role: 'realtime' })
  const reloads: string[] = []
  const tls: TlsMetrics = {
    used: () => undefined,
    reloaded: (listener, result) => reloads.push(`${listener} ${result}`),
  }
  const metrics = { ...counted, tls }
  const requests: Buffer[] = []
  let stored: Peers | null = peers === null ? null : compilePeers(peers)
  const answer = (connection: DiameterConnection, bytes: Buffer) => {
    connection.send(baseAnswer(bytes, 2001, IDENTITY))
  }
  const node = await startDiameter({
    config: { diameter: settingsOf(settings) },
    // Only the logger methods in use.
    log: { info: write('info'), warn: write('warn'), error: write('error') } as never,
    metrics,
    clock: { nowMs: () => NOW_MS },
    identity: IDENTITY,
    peers: () => stored,
    ...(rateLimits === undefined ? {} : { rateLimits }),
    backpressure,
    onRequest: (connection, bytes, overRate) => {
      if (overRate !== undefined && onRequest === undefined) {
        overRate()
        return
      }
      requests.push(Buffer.from(bytes))
      ;(onRequest ?? answer)(connection, bytes, overRate)
    },
  })
  open.push(node)
  /** The values of a metric, as `label=value,…: number`. */
  const figures = async (name: string) => {
    const { metrics: all } = await metrics.snapshot()
    const values = all.find((metric) => metric.name === name)?.values ?? []
    return values.map(({ labels, value }) => {
      const texts = Object.entries(labels).map(([label, text]) => `${label}=${text}`)
      return `${texts.join(',')}: ${value}`
    })
  }
  const setPeers = (now: readonly object[] | null) => {
    stored = now === null ? null : compilePeers(now)
  }
  return { node, port: node.port, lines, requests, reloads, figures, setPeers }
}

/** A stored peer. */
export function storedPeer(name: string, further: object = {}): object {
  return {
    name,
    keys: [],
    addresses: [],
    requests_per_second: 0,
    disabled: false,
    diameter: { origin_host: `${name}.peer.test` },
    ...further,
  }
}
