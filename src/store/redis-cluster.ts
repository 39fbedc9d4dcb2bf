/** A Redis Cluster client that fails as fast as that of a single Redis. */
import { Cluster, type Redis } from 'ioredis'
import type { Driver, DriverClient } from './driver.ts'
import { clusterAddressOf, type RedisSettings, singleOptions } from './redis-options.ts'

/** Regular refresh of the slot map; moved slots are otherwise found by redirections. */
const REFRESH_MS = 10_000
/** Refresh interval while a node is unavailable, to find its successor. */
const OUTAGE_REFRESH_MS = 200
/** A redirected script has had no effect, so it may be sent again. */
const REDIRECTIONS_MAX = 4

/**
 * Commands in flight to a failed node are not repeated here: the repeated request finds out whether
 * they took effect. Every master is connected in advance.
 */
export function openCluster(settings: RedisSettings): Driver {
  const { nodes, credentials } = clusterAddressOf(settings.url)
  const { retryStrategy: _, ...options } = singleOptions(settings, credentials)
  const client = new Cluster(nodes, {
    enableOfflineQueue: false,
    slotsRefreshInterval: REFRESH_MS,
    slotsRefreshTimeout: settings.connectTimeoutMs,
    maxRedirections: REDIRECTIONS_MAX,
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
    clusterRetryStrategy: () => OUTAGE_REFRESH_MS,
    redisOptions: options,
  })
  const listeners: (() => void)[] = []
  client.on('+node', (node: Redis) => {
    node.on('close', () => {
      for (const listener of listeners) listener()
    })
    // Rejects if the driver is already connecting.
    if (node.status === 'wait') node.connect().catch(() => undefined)
  })
  return {
    client: client as unknown as DriverClient,
    masters: () => client.nodes('master'),
    nodes() {
      const known = client
        .nodes('all')
        .flatMap(({ options: { host, port } }) =>
          host === undefined || port === undefined ? [] : [{ host, port }],
        )
      return (known.length > 0 ? known : nodes).map((node) => ({ ...options, ...node }))
    },
    onLost: (listener) => listeners.push(listener),
    isReady: () => client.status === 'ready' && areConnected(client.nodes('master')),
    onOutage: createRefresher(client),
  }
}

function areConnected(masters: readonly Redis[]): boolean {
  return masters.length > 0 && masters.every((master) => master.status === 'ready')
}

function createRefresher(client: Cluster): () => void {
  let isWaiting = false
  return () => {
    if (isWaiting || client.status !== 'ready') return
    isWaiting = true
    client.refreshSlotsCache()
    setTimeout(() => {
      isWaiting = false
    }, OUTAGE_REFRESH_MS).unref()
  }
}
