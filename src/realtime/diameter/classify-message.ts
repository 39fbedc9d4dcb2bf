/** Classifies a message by its header. */
import type { ProtocolError } from '../codecs/diameter-wire/base-answer.ts'
import { application, command, flags, resultCode } from '../codecs/diameter-wire/protocol.ts'

export type MessageKind =
  | 'cer'
  | 'dwr'
  | 'dpr'
  | 'creditControl'
  | 'unsupportedCommand'
  | 'unsupportedApplication'
  | 'invalidBits'
  | 'dwa'
  | 'dpa'
  | 'answer'

/** Known commands that a server sends to its clients, or that are not part of credit control. */
const NOT_FOR_SERVERS: readonly number[] = [
  command.reAuth,
  command.abortSession,
  command.sessionTermination,
]

/**
 * `bytes` is a complete message. A CER is recognised even with other errors in its header: it is
 * answered by a CEA.
 */
export function classifyMessage(bytes: Buffer): MessageKind {
  const bits = bytes[4] as number
  const code = commandOf(bytes)
  if ((bits & flags.request) === 0) return classifyAnswer(code)
  if (code === command.capabilitiesExchange) return 'cer'
  if ((bits & flags.error) !== 0) return 'invalidBits'
  const id = bytes.readUInt32BE(8)
  if (code === command.creditControl) {
    return id === application.creditControl ? 'creditControl' : 'unsupportedApplication'
  }
  if (NOT_FOR_SERVERS.includes(code)) return 'unsupportedCommand'
  if (id === application.creditControl) return 'unsupportedCommand'
  if (id !== application.base) return 'unsupportedApplication'
  if (code === command.watchdog) return 'dwr'
  return code === command.disconnectPeer ? 'dpr' : 'unsupportedCommand'
}

function classifyAnswer(code: number): MessageKind {
  if (code === command.watchdog) return 'dwa'
  return code === command.disconnectPeer ? 'dpa' : 'answer'
}

export function commandOf(bytes: Buffer): number {
  return ((bytes[5] as number) << 16) | ((bytes[6] as number) << 8) | (bytes[7] as number)
}

/** AVPs searched for Result-Code, which is among the first. */
const SEARCHED_AVPS_MAX = 8

/** Result-Code of an answer; 0 if it is not among the first AVPs. */
export function resultCodeOf(bytes: Buffer): number {
  let at = 20
  for (let count = 0; count < SEARCHED_AVPS_MAX && at + 12 <= bytes.length; count += 1) {
    const length = bytes.readUInt32BE(at + 4) & 0xffffff
    const isResult = bytes[at + 3] === 12 && bytes[at + 2] === 1 && bytes.readUInt32BE(at) === 268
    if (isResult && length === 12) return bytes.readUInt32BE(at + 8)
    if (length < 8) return 0
    at += (length + 3) & ~3
  }
  return 0
}

/** Errors of the kinds of requests that are refused. */
export const kindProblems = {
  unsupportedCommand: {
    resultCode: resultCode.commandUnsupported,
    why: 'the command is not supported',
  },
  unsupportedApplication: {
    resultCode: resultCode.applicationUnsupported,
    why: 'the application is not supported',
  },
  invalidBits: {
    resultCode: resultCode.invalidHeaderBits,
    why: 'the flags of the header are wrong',
  },
} as const satisfies Partial<Record<MessageKind, ProtocolError>>
