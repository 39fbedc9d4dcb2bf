/** Tells by the header of a message what it is, and whether the node takes it. */
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

/** Result codes of requests that are not taken. */
export const REFUSED_KINDS: Readonly<Partial<Record<MessageKind, number>>> = {
  unsupportedCommand: resultCode.commandUnsupported,
  unsupportedApplication: resultCode.applicationUnsupported,
  invalidBits: resultCode.invalidHeaderBits,
}

/** Commands that are known, but go from a server to its clients, or belong to no credit control. */
const NOT_FOR_SERVERS: readonly number[] = [
  command.reAuth,
  command.abortSession,
  command.sessionTermination,
]

/** A whole message. CER is told whatever else is wrong with it: it is answered by CEA. */
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

/** The command code of a message. */
export function commandOf(bytes: Buffer): number {
  return ((bytes[5] as number) << 16) | ((bytes[6] as number) << 8) | (bytes[7] as number)
}

/** AVPs after which Result-Code is not looked for any more; it stands among the first. */
const SEARCHED_AVPS_MAX = 8

/** The Result-Code of an answer; 0 if it has none near its beginning. */
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

/** Why a message was refused, for the log. */
export const refusalTexts = {
  unsupportedCommand: 'the command is not supported',
  unsupportedApplication: 'the application is not supported',
  invalidBits: 'the flags of the header are wrong',
} as const
