/** A topic of Apache Kafka. Its client is loaded when lines are sent, and not before. */
import type { Producer } from '@platformatic/kafka'
import { hostWithPort, isAddress } from '../config/hosts.ts'
import type { Config } from '../config/schema.ts'
import { readTlsFile } from '../runtime/tls-files.ts'

export interface TopicMessage {
  /** Messages with the same key keep their order. */
  readonly key: string
  readonly value: string
}

/** The topic did not acknowledge messages; it may have some of them. */
export class KafkaError extends Error {
  override name = 'KafkaError'
}

type KafkaSettings = Config['export']['kafka']

/** Acknowledged by all replicas that are in sync. */
const ACKS_ALL = -1
/** While a partition changes its leader. */
const RETRIES = 3

export class KafkaTopic {
  readonly #settings: KafkaSettings
  readonly #retryMs: number
  #producer: Producer | null = null

  /** `retryMs`: pause between two attempts within a send; shorter in tests. */
  constructor(settings: KafkaSettings, retryMs = 1_000) {
    this.#settings = settings
    this.#retryMs = retryMs
  }

  /**
   * Rejects with `KafkaError`, or `TlsFileError` for unusable files. One call at a time, so that
   * messages keep their order. A connection is kept for the next call, and keeps no process alive.
   */
  async send(messages: readonly TopicMessage[], signal: AbortSignal): Promise<void> {
    const { topic, timeoutMs } = this.#settings
    this.#producer ??= await this.#open()
    const sending = this.#producer.send({
      messages: messages.map(({ key, value }) => ({
        topic,
        key: Buffer.from(key),
        value: Buffer.from(value),
      })),
      acks: ACKS_ALL,
    })
    try {
      await unlessAborted(sending, AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]))
    } catch (error) {
      // A client that has failed may wait for a broker that does not answer.
      this.close()
      // Without its cause, which may have settings.
      throw new KafkaError(`Kafka topic ${topic}: ${reasonOf(error)}`)
    }
  }

  close(): void {
    const producer = this.#producer
    if (producer === null) return
    this.#producer = null
    const sockets = [...producer.connections].map(([, connection]) => connection.socket)
    producer.close().catch(() => undefined)
    for (const socket of sockets) socket?.destroy()
  }

  async #open(): Promise<Producer> {
    const { Producer, compatibilityPartitioner } = await import('@platformatic/kafka')
    const { brokers, tls, mechanism, username, password, compression, timeoutMs } = this.#settings
    const bootstrapBrokers = brokers
      .map((broker) => hostWithPort(broker))
      .filter((it) => it !== null)
    const producer = new Producer({
      clientId: 'tollgate',
      bootstrapBrokers,
      compression,
      // That of the Java client.
      partitioner: compatibilityPartitioner,
      ...{ retries: RETRIES, retryDelay: this.#retryMs },
      ...{ timeout: timeoutMs, connectTimeout: timeoutMs, requestTimeout: timeoutMs },
      ...(tls && {
        tls: tlsOptions(this.#settings),
        tlsServerName: !bootstrapBrokers.every(({ host }) => isAddress(host)),
      }),
      ...(mechanism !== 'none' && { sasl: { mechanism, username, password } }),
    })
    producer.on('client:broker:connect', ({ connection }) => connection.socket.unref())
    return producer
  }
}

/** Files are read for each client, so that renewed certificates are used. */
function tlsOptions({ caFile, certFile, keyFile }: KafkaSettings) {
  const read = (name: string, file: string) => readTlsFile(`export.kafka.${name}`, file)
  return {
    minVersion: 'TLSv1.2' as const,
    rejectUnauthorized: true,
    ...(caFile === '' ? {} : { ca: read('caFile', caFile) }),
    ...(certFile === '' ? {} : { cert: read('certFile', certFile), key: read('keyFile', keyFile) }),
  }
}

function unlessAborted(work: Promise<unknown>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason)
    signal.addEventListener('abort', stop, { once: true })
    if (signal.aborted) stop()
    const end = () => signal.removeEventListener('abort', stop)
    work.then(() => resolve(), reject).finally(end)
  })
}

/** The innermost reason: the client wraps it in those of its steps. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error.name === 'TimeoutError') return 'no acknowledgement within export.kafka.timeoutMs'
  const inner = error instanceof AggregateError ? error.errors.at(-1) : error.cause
  return inner === undefined ? error.message : reasonOf(inner)
}
