import { mkdtempSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BSON, type Document } from 'bson'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type MongoServer, startMongoServer } from '../src/server.ts'
import { crc32c } from '../src/wire/crc32c.ts'
import { FrameReader } from '../src/wire/frames.ts'

const OP_MSG = 2013
const OP_QUERY = 2004

function message(opCode: number, payload: Uint8Array, requestId = 7): Buffer {
  const head = Buffer.alloc(16)
  head.writeInt32LE(16 + payload.length, 0)
  head.writeInt32LE(requestId, 4)
  head.writeInt32LE(opCode, 12)
  return Buffer.concat([head, payload])
}

function section(kind: number, payload: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from([kind]), payload])
}

function sequence(name: string, docs: readonly Document[]): Buffer {
  const content = Buffer.concat([
    Buffer.from(`${name}\0`),
    ...docs.map((doc) => BSON.serialize(doc)),
  ])
  const length = Buffer.alloc(4)
  length.writeInt32LE(content.length + 4)
  return section(1, Buffer.concat([length, content]))
}

function msg(flags: number, ...sections: Buffer[]): Buffer {
  const head = Buffer.alloc(4)
  head.writeUInt32LE(flags)
  return message(OP_MSG, Buffer.concat([head, ...sections]))
}

const command = (doc: Document, flags = 0) =>
  msg(flags, section(0, BSON.serialize({ ...doc, $db: 't' })))

/** The same message with a checksum at its end. */
function withChecksum(frame: Buffer, error = 0): Buffer {
  const longer = Buffer.concat([frame, Buffer.alloc(4)])
  longer.writeInt32LE(longer.length, 0)
  longer.writeUInt32LE((crc32c(longer.subarray(0, -4)) ^ error) >>> 0, longer.length - 4)
  return longer
}

let folder: string
let server: MongoServer
const sockets: Socket[] = []

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tg-wire-'))
  server = await startMongoServer({
    dataDir: join(folder, 'd'),
    socketPath: join(folder, 's.sock'),
  })
})

afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy()
})

afterAll(async () => {
  await server.close()
  rmSync(folder, { recursive: true, force: true })
})

function open(): Socket {
  const socket = connect(join(folder, 's.sock'))
  sockets.push(socket)
  return socket
}

/** The next replies of a connection; rejects if it is closed first. */
function answers(socket: Socket, count: number): Promise<Document[]> {
  const reader = new FrameReader()
  const found: Document[] = []
  return new Promise((resolve, reject) => {
    socket.on('data', (chunk) => {
      for (const frame of reader.push(chunk)) {
        found.push(BSON.deserialize(frame.subarray(frame.readInt32LE(12) === OP_MSG ? 21 : 36)))
      }
      if (found.length >= count) resolve(found)
    })
    socket.once('close', () => reject(new Error('closed')))
  })
}

async function ask(frame: Buffer): Promise<Document | undefined> {
  const socket = open()
  const answer = answers(socket, 1)
  socket.write(frame)
  return (await answer)[0]
}

describe('the wire protocol', () => {
  it('reads a message split at any position', async () => {
    const parts = [command({ ping: 1 }), command({ noSuch: 1 })]
    const frame = Buffer.concat(parts)
    for (let cut = 1; cut < frame.length; cut++) {
      const reader = new FrameReader()
      const frames = [...reader.push(frame.subarray(0, cut)), ...reader.push(frame.subarray(cut))]
      expect(frames).toEqual(parts)
    }
  })

  it('answers in order, also byte by byte and with several requests at a time', async () => {
    const socket = open()
    const answer = answers(socket, 3)
    const frame = Buffer.concat([
      command({ ping: 1 }),
      command({ noSuch: 1 }),
      command({ count: 'nothing' }),
    ])
    for (const byte of frame) socket.write(Buffer.from([byte]))
    expect(await answer).toMatchObject([{ ok: 1 }, { ok: 0, code: 59 }, { ok: 1, n: 0 }])
  })

  it('accepts documents next to the command, and sections in any order', async () => {
    const docs = [{ _id: 1 }, { _id: 2 }]
    const body = section(0, BSON.serialize({ insert: 'beside', $db: 't' }))
    expect(await ask(msg(0, sequence('documents', docs), body))).toMatchObject({ n: 2 })
    const count = { aggregate: 'beside', pipeline: [{ $count: 'n' }], cursor: {} }
    expect(await ask(command(count))).toMatchObject({ cursor: { firstBatch: [{ n: 2 }] } })
  })

  it('verifies a checksum', async () => {
    expect(await ask(withChecksum(command({ ping: 1 }, 1)))).toMatchObject({ ok: 1 })
    await expect(ask(withChecksum(command({ ping: 1 }, 1), 1))).rejects.toThrow('closed')
    expect(crc32c(Buffer.from('123456789'))).toBe(0xe3069283)
  })

  it('executes requests without a reply, and answers the next one', async () => {
    const socket = open()
    const answer = answers(socket, 1)
    socket.write(command({ insert: 'quiet', documents: [{ _id: 1 }] }, 2))
    socket.write(command({ count: 'quiet' }))
    expect(await answer).toMatchObject([{ n: 1 }])
  })

  it('returns single replies to a client that allows a stream', async () => {
    expect(await ask(command({ ping: 1 }, 1 << 16))).toMatchObject({ ok: 1 })
  })

  it('supports the legacy hello', async () => {
    const name = Buffer.from('admin.$cmd\0')
    const head = Buffer.concat([Buffer.alloc(4), name, Buffer.alloc(8)])
    const hello = Buffer.concat([head, BSON.serialize({ isMaster: 1, helloOk: true })])
    const answer = await ask(message(OP_QUERY, hello))
    expect(answer).toMatchObject({ ismaster: true, helloOk: true, ok: 1 })
  })

  it.each<[what: string, frame: Buffer]>([
    ['a length of zero', Buffer.alloc(16)],
    ['a length above the maximum', Buffer.from('ffffff7f000000000000000000000000', 'hex')],
    ['an unknown opcode', message(2012, Buffer.alloc(9))],
    ['unknown required flags', command({ ping: 1 }, 4)],
    ['no body', msg(0)],
    ['two bodies', msg(0, section(0, BSON.serialize({})), section(0, BSON.serialize({})))],
    ['an unknown section', msg(0, section(2, BSON.serialize({})))],
    ['a document that is longer than its message', msg(0, Buffer.from('00ff000000', 'hex'))],
    ['a sequence that is longer than its message', msg(0, Buffer.from('01ff000000', 'hex'))],
    ['an end in the middle of a section', msg(0, Buffer.from('00ff', 'hex'))],
    ['a query on a collection', message(OP_QUERY, Buffer.from('00000000612e6200', 'hex'))],
  ])('closes the connection on %s, and continues with others', async (_what, frame) => {
    const ping = command({ ping: 1 })
    await expect(ask(Buffer.concat([frame, ping]))).rejects.toThrow('closed')
    expect(await ask(ping)).toMatchObject({ ok: 1 })
  })

  it('answers invalid BSON with an error', async () => {
    const body = Buffer.from([11, 0, 0, 0, 0x02, 0x78, 0, 0xff, 0, 0, 0])
    expect(await ask(msg(0, section(0, body)))).toMatchObject({ ok: 0, code: 9 })
  })
})
