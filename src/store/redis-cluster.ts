/** A client of a Redis Cluster that fails as fast as that of a single Redis. */
import { Cluster, type Redis } from 'ioredis'
import type { Driver, DriverClient } from './driver.ts'
import { clusterAddressOf, type RedisSettings, singleOptions } from './redis-options.ts'

/** Slots that move without a fault are followed by their redirections; this is for the rest. */
const REFRESH_MS = 10_000
/** While a node is away its successor is looked for so often. */
const OUTAGE_REFRESH_MS = 200
/** A script that is sent to the wrong node has done nothing, so it may follow. */
const REDIRECTIONS_MAX = 4

/**
 * What a node that has gone was asked is not repeated here: whether it was done is for the repeated
 * request to find out. Every master is connected before it is needed.
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
    // Refused, if the driver itself has begun to connect: then it is on its way.
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
