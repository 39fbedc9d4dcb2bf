import { SESSION_MINUTES_MAX } from '../sessions/sessions.ts'
import { DOCUMENT_BYTES_MAX } from '../values/document.ts'
import { MESSAGE_BYTES_MAX } from '../wire/frames.ts'
import type { Command, CommandReply, Commands } from './command.ts'

/** Wire version of MongoDB 7.0, whose behaviour this server implements. */
const WIRE_VERSION_MAX = 21
const SERVER_VERSION = [7, 0, 0, 0]
/** Maximum number of operations in one bulk. */
export const WRITE_BATCH_MAX = 100_000

/** A replica set needs a name; this is the only member. */
const SET_NAME = 'embedded'

/**
 * Describes the primary of a replica set with one member, so that the driver sends transactions and
 * retryable writes.
 */
const hello: Command = ({ clock, connection, address }, args): CommandReply => ({
  ...(args.name === 'hello' ? { isWritablePrimary: true } : { ismaster: true }),
  helloOk: true,
  setName: SET_NAME,
  setVersion: 1,
  secondary: false,
  hosts: [address],
  primary: address,
  me: address,
  maxBsonObjectSize: DOCUMENT_BYTES_MAX,
  maxMessageSizeBytes: MESSAGE_BYTES_MAX,
  maxWriteBatchSize: WRITE_BATCH_MAX,
  localTime: new Date(clock.nowMs()),
  logicalSessionTimeoutMinutes: SESSION_MINUTES_MAX,
  connectionId: connection.id,
  minWireVersion: 0,
  maxWireVersion: WIRE_VERSION_MAX,
  readOnly: false,
})

const ping: Command = (_context, args) => {
  args.allow([])
  return {}
}

const buildInfo: Command = (_context, args) => {
  args.allow([])
  return {
    version: SERVER_VERSION.slice(0, 3).join('.'),
    versionArray: SERVER_VERSION,
    modules: ['tollgate-embedded'],
    storageEngines: ['lmdb'],
    bits: 64,
    debug: false,
    maxBsonObjectSize: DOCUMENT_BYTES_MAX,
  }
}

/** The subset of MongoDB's status that is counted here, under the same names. */
const serverStatus: Command = ({ clock, cursors, records }) => {
  const { keys, documents } = records.examined
  return {
    version: SERVER_VERSION.slice(0, 3).join('.'),
    pid: process.pid,
    localTime: new Date(clock.nowMs()),
    metrics: {
      cursor: { open: { total: cursors.size } },
      queryExecutor: { scanned: keys, scannedObjects: documents },
    },
  }
}

export const handshakeCommands: Commands = {
  hello,
  isMaster: hello,
  ismaster: hello,
  ping,
  buildInfo,
  buildinfo: buildInfo,
  serverStatus,
}
