/** Converts settings to driver options. */
import type { RedisOptions } from 'ioredis'

export interface RedisSettings {
  /**
   * `redis://`, `rediss://` or `unix:///path`; for a cluster with some of its nodes,
   * `redis-cluster://user:password@host:port,host:port` (`rediss-cluster://`).
   */
  url: string
  commandTimeoutMs: number
  connectTimeoutMs: number
  /** Replicas that must have a commit before it is acknowledged; 0 by default. */
  replicaAcks?: number
}

/** Omits the option whose optional type the driver's constructor rejects. */
export type ConnectionOptions = Omit<RedisOptions, 'replyMapping'>

const RETRY_MS_MAX = 500
const CLUSTER_URL = /^redis(s?)-cluster:\/\/(?:([^@/?#]*)@)?([^/@?#]+)\/?$/
const PORT = 6379

export function isClusterUrl(url: string): boolean {
  return CLUSTER_URL.test(url)
}

/** Options of one connection. */
export function singleOptions(
  { connectTimeoutMs, commandTimeoutMs }: RedisSettings,
  address: ConnectionOptions,
): ConnectionOptions {
  return {
    connectTimeout: connectTimeoutMs,
    commandTimeout: commandTimeoutMs,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    enableAutoPipelining: false,
    retryStrategy: (attempt) => Math.min(20 * 2 ** attempt, RETRY_MS_MAX),
    ...address,
  }
}

/** Address and credentials of a single Redis. */
export function addressOf(text: string): ConnectionOptions {
  const url = new URL(text)
  if (url.protocol === 'unix:') return { path: decodeURIComponent(url.pathname) }
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: Number(url.port || PORT),
    ...(url.pathname.length > 1 ? { db: Number(url.pathname.slice(1)) } : {}),
    ...credentialsOf(url),
    ...(url.protocol === 'rediss:' ? { tls: {} } : {}),
  }
}

export interface ClusterAddress {
  nodes: { host: string; port: number }[]
  /** Credentials of every node. */
  credentials: ConnectionOptions
}

/** Nodes and credentials of a cluster URL. Throws `TypeError` if it is not one. */
export function clusterAddressOf(text: string): ClusterAddress {
  const [, secure, user, hosts] = CLUSTER_URL.exec(text) ?? []
  if (hosts === undefined) throw new TypeError('not the URL of a Redis Cluster')
  const nodes = hosts.split(',').map((host) => {
    const url = new URL(`redis://${host}`)
    return { host: url.hostname.replace(/^\[|\]$/g, ''), port: Number(url.port || PORT) }
  })
  const credentials = user === undefined ? {} : credentialsOf(new URL(`redis://${user}@host`))
  return { nodes, credentials: { ...credentials, ...(secure === 's' ? { tls: {} } : {}) } }
}

function credentialsOf({ username, password }: URL): ConnectionOptions {
  return {
    ...(username === '' ? {} : { username: decodeURIComponent(username) }),
    ...(password === '' ? {} : { password: decodeURIComponent(password) }),
  }
}
