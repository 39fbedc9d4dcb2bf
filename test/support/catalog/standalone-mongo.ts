/** The part of a standalone mongod that a driver sees first: hello, and no transactions. */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { BSON } from 'mongodb'

const OP_REPLY = 1
const OP_QUERY = 2004
const OP_MSG = 2013
const HEADER_BYTES = 16

const HELLO = {
  isWritablePrimary: true,
  ismaster: true,
  helloOk: true,
  maxBsonObjectSize: 16_777_216,
  maxMessageSizeBytes: 48_000_000,
  maxWriteBatchSize: 100_000,
  logicalSessionTimeoutMinutes: 30,
  minWireVersion: 0,
  maxWireVersion: 21,
  readOnly: false,
  ok: 1,
}
/** As MongoDB 7 answers on a standalone server. */
const NO_TRANSACTIONS = {
  ok: 0,
  errmsg: 'Transaction numbers are only allowed on a replica set member or mongos',
  code: 20,
  codeName: 'IllegalOperation',
}

export interface StandaloneMongo {
  url: string
  close(): Promise<void>
}

export async function startStandaloneMongo(): Promise<StandaloneMongo> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    let rest = Buffer.alloc(0)
    socket.on('error', () => socket.destroy())
    socket.on('data', (bytes: Buffer) => {
      rest = Buffer.concat([rest, bytes])
      while (rest.length >= 4 && rest.length >= rest.readInt32LE(0)) {
        const length = rest.readInt32LE(0)
        socket.write(answerTo(rest.subarray(0, length)))
        rest = rest.subarray(length)
      }
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `mongodb://127.0.0.1:${port}`,
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

function answerTo(message: Buffer): Buffer {
  const id = message.readInt32LE(4)
  const isQuery = message.readInt32LE(12) === OP_QUERY
  if (isQuery) {
    const fields = Buffer.alloc(20)
    fields.writeInt32LE(1, 16)
    return framed(id, OP_REPLY, Buffer.concat([fields, BSON.serialize(HELLO)]))
  }
  const at = HEADER_BYTES + 5
  const command = BSON.deserialize(message.subarray(at, at + message.readInt32LE(at)))
  return framed(id, OP_MSG, Buffer.concat([Buffer.alloc(5), BSON.serialize(answerOf(command))]))
}

function answerOf(command: BSON.Document): BSON.Document {
  if ('hello' in command || 'ismaster' in command) return HELLO
  if ('txnNumber' in command) return NO_TRANSACTIONS
  const [name = ''] = Object.keys(command)
  const cursor = { id: BSON.Long.ZERO, ns: `test.${String(command[name])}`, firstBatch: [] }
  return name === 'find' ? { ok: 1, cursor } : { ok: 1, n: 1 }
}

function framed(to: number, code: number, body: Buffer): Buffer {
  const header = Buffer.alloc(HEADER_BYTES)
  header.writeInt32LE(HEADER_BYTES + body.length, 0)
  header.writeInt32LE(to, 8)
  header.writeInt32LE(code, 12)
  return Buffer.concat([header, body])
}
