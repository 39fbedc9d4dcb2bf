/**
 * A broker with one topic over memory: it speaks the protocol of Apache Kafka as far as a producer
 * needs it. What it reads and writes was compared with a real one (TEST_KAFKA in stream.test.ts).
 */
import {
  type AddressInfo,
  createServer as createTcpServer,
  type Server,
  type Socket,
} from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { Reader, readRecordsBatch, Writer } from '@platformatic/kafka'

export interface KafkaRecord {
  readonly partition: number
  readonly key: string
  readonly value: string
}

export interface KafkaBroker {
  readonly address: string
  readonly records: KafkaRecord[]
  /** Requests with records, and compression of the last one as the protocol counts it. */
  readonly produced: { requests: number; compression: number; bytesMax: number }
  /** Connections that were opened. */
  connections(): number
  /** Refuses the next records with an error code of the protocol. */
  refuseNext(code: number): void
  /** Ends the connection before the next records are stored, or after that without an answer. */
  cutNext(when: 'before' | 'after'): void
  /** Answers no records from now on, or again. */
  silence(isSilent?: boolean): void
  /** Ends the connections and refuses new ones until it is opened again, at the same address. */
  close(): Promise<void>
  reopen(): Promise<void>
}

export interface KafkaBrokerOptions {
  readonly topic: string
  readonly partitions: number
  /** The user that may log in by SASL PLAIN; without it nobody logs in. */
  readonly login?: { readonly username: string; readonly password: string }
  readonly tls?: { readonly cert: Buffer; readonly key: Buffer }
}

const [PRODUCE, METADATA, HANDSHAKE, API_VERSIONS, AUTHENTICATE] = [0, 3, 17, 18, 36]
/** The only version that is answered, of each request. */
const VERSIONS: Readonly<Record<number, number>> = {
  ...{ [PRODUCE]: 9, [METADATA]: 12, [HANDSHAKE]: 1, [API_VERSIONS]: 3, [AUTHENTICATE]: 2 },
}
const [UNKNOWN_TOPIC, SASL_FAILED, SASL_STATE] = [3, 58, 34]
const NODE = 1

export async function startKafkaBroker(options: KafkaBrokerOptions): Promise<KafkaBroker> {
  const broker = new Broker(options)
  await broker.reopen()
  return broker
}

class Broker implements KafkaBroker {
  readonly records: KafkaRecord[] = []
  readonly produced = { requests: 0, compression: 0, bytesMax: 0 }
  readonly #options: KafkaBrokerOptions
  readonly #sockets = new Set<Socket>()
  #server: Server | null = null
  #port = 0
  #opened = 0
  #refusal = 0
  #cut: 'before' | 'after' | null = null
  #isSilent = false

  constructor(options: KafkaBrokerOptions) {
    this.#options = options
  }

  get address(): string {
    return `localhost:${this.#port}`
  }

  connections(): number {
    return this.#opened
  }

  refuseNext(code: number): void {
    this.#refusal = code
  }

  cutNext(when: 'before' | 'after'): void {
    this.#cut = when
  }

  silence(isSilent = true): void {
    this.#isSilent = isSilent
  }

  async reopen(): Promise<void> {
    const { tls } = this.#options
    const serve = (socket: Socket) => this.#serve(socket)
    const server = tls === undefined ? createTcpServer(serve) : createTlsServer(tls, serve)
    await new Promise<void>((resolve) => server.listen(this.#port, 'localhost', resolve))
    this.#server = server
    this.#port = (server.address() as AddressInfo).port
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server?.close(resolve) ?? resolve(null))
    for (const socket of this.#sockets) socket.destroy()
    await closed
    this.#server = null
  }

  #serve(socket: Socket): void {
    this.#opened += 1
    this.#sockets.add(socket)
    const state = { isLoggedIn: this.#options.login === undefined }
    let unread = Buffer.alloc(0)
    socket.on('error', () => undefined)
    socket.on('close', () => this.#sockets.delete(socket))
    socket.on('data', (chunk) => {
      unread = Buffer.concat([unread, chunk])
      while (unread.length >= 4 && unread.length >= 4 + unread.readInt32BE()) {
        const size = 4 + unread.readInt32BE()
        const answer = this.#answer(Reader.from(unread.subarray(4, size)), state, socket)
        unread = unread.subarray(size)
        if (answer !== null) socket.write(answer.prependLength().buffer)
      }
    })
  }

  /** Null if the request is not answered. */
  #answer(request: Reader, state: { isLoggedIn: boolean }, socket: Socket): Writer | null {
    const key = request.readInt16()
    const version = request.readInt16()
    if (VERSIONS[key] !== version) throw new Error(`request ${key} of version ${version}`)
    const answer = Writer.create().appendInt32(request.readInt32())
    request.readNullableString(false)
    if (key === HANDSHAKE) {
      return answer
        .appendInt16(0)
        .appendArray(['PLAIN'], (w, name) => w.appendString(name, false), false, false)
    }
    request.readTaggedFields()
    if (key === API_VERSIONS) return versionsTo(answer)
    answer.appendTaggedFields()
    if (key === AUTHENTICATE) {
      state.isLoggedIn = this.#isLogin(request.readBytes().toString())
      const code = state.isLoggedIn ? 0 : SASL_FAILED
      const reason = state.isLoggedIn ? null : 'Invalid username or password'
      answer.appendInt16(code).appendString(reason)
      return answer.appendBytes(Buffer.alloc(0)).appendInt64(0n).appendTaggedFields()
    }
    if (!state.isLoggedIn) throw new Error(`request ${key} without a login: ${SASL_STATE}`)
    if (key === METADATA) return this.#metadataTo(answer, request)
    return this.#produce(answer, request, socket)
  }

  #isLogin(sent: string): boolean {
    const { username, password } = this.#options.login ?? {}
    return sent === `\0${username}\0${password}`
  }

  #metadataTo(answer: Writer, request: Reader): Writer {
    const { topic, partitions } = this.#options
    const names = request.readArray((r) => {
      r.readUUID()
      return r.readString()
    })
    const list = (w: Writer, ids: number[]) =>
      w.appendArray(ids, (each, id) => each.appendInt32(id), true, false)
    answer
      .appendInt32(0)
      .appendArray([NODE], (w, id) =>
        w.appendInt32(id).appendString('localhost').appendInt32(this.#port).appendString(null),
      )
      .appendString('cluster')
      .appendInt32(NODE)
      .appendArray(names, (w, name) => {
        const isKnown = name === topic
        w.appendInt16(isKnown ? 0 : UNKNOWN_TOPIC)
          .appendString(name)
          .appendUUID(null)
        w.appendBoolean(false).appendArray(
          isKnown ? [...Array(partitions).keys()] : [],
          (p, id) => {
            p.appendInt16(0).appendInt32(id).appendInt32(NODE).appendInt32(0)
            for (const nodes of [[NODE], [NODE], []]) list(p, nodes)
          },
        )
        w.appendInt32(0)
      })
    return answer.appendTaggedFields()
  }

  #produce(answer: Writer, request: Reader, socket: Socket): Writer | null {
    request.readNullableString()
    const acks = request.readInt16()
    if (acks !== -1) throw new Error(`acks ${acks}`)
    request.readInt32()
    const topics = request.readArray((r) => {
      const topic = r.readString()
      return { topic, partitions: r.readArray((p) => this.#readPartition(p)) }
    })
    const cut = this.#cut
    const refusal = this.#refusal
    this.#cut = null
    this.#refusal = 0
    this.produced.requests += 1
    if (cut !== 'before' && refusal === 0 && !this.#isSilent) {
      for (const { partitions } of topics) {
        for (const { records } of partitions) this.records.push(...records)
      }
    }
    if (cut !== null) {
      socket.destroy()
      return null
    }
    if (this.#isSilent) return null
    answer.appendArray(topics, (w, { topic, partitions }) => {
      w.appendString(topic).appendArray(partitions, (p, { partition }) => {
        p.appendInt32(partition).appendInt16(refusal).appendInt64(0n).appendInt64(-1n)
        p.appendInt64(0n)
          .appendArray([], () => undefined)
          .appendString(null)
      })
    })
    return answer.appendInt32(0).appendTaggedFields()
  }

  #readPartition(reader: Reader): { partition: number; records: KafkaRecord[] } {
    const partition = reader.readInt32()
    const bytes = reader.readUnsignedVarInt() - 1
    this.produced.bytesMax = Math.max(this.produced.bytesMax, bytes)
    const batch = readRecordsBatch(reader)
    this.produced.compression = batch.attributes & 7
    const records = batch.records.map(({ key, value }) => ({
      partition,
      key: String(key),
      value: String(value),
    }))
    return { partition, records }
  }
}

function versionsTo(answer: Writer): Writer {
  const versions = Object.entries(VERSIONS).map(([key, version]) => [Number(key), version] as const)
  return answer
    .appendInt16(0)
    .appendArray(versions, (w, [key, version]) => {
      w.appendInt16(key).appendInt16(version).appendInt16(version)
    })
    .appendInt32(0)
    .appendTaggedFields()
}
