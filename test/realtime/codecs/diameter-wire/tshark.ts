/** What tshark, where it is installed, says of messages. */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export const whyNoTshark =
  spawnSync('tshark', ['--version']).status === 0 ? '' : ' (skipped: no tshark)'

export interface SeenAvp {
  depth: number
  name: string
  code: number
  length: number
  /** As V, M, P or `-` for each. */
  flags: string
  /** Empty of a group. */
  value: string
}

export interface SeenMessage {
  /** Marks of what is malformed or odd. */
  problems: readonly string[]
  avps: readonly SeenAvp[]
}

const AVP = /^( *)AVP: (.+)\((\d+)\) l=(\d+) f=(\S{3})(?: vnd=\S+)?(?: val=(.*))?$/
const PROBLEM = /malformed|expert info|unknown avp|padding.*(wrong|non-zero)/i

/** Each message as tshark reads it from a capture in which each is a packet of its own. */
export function seenBy(messages: readonly Buffer[]): readonly SeenMessage[] {
  const folder = mkdtempSync(join(tmpdir(), 'tshark-'))
  try {
    const file = join(folder, 'messages.pcap')
    writeFileSync(file, captureOf(messages))
    const args = ['-r', file, '-d', 'tcp.port==3868,diameter', '-V', '-O', 'diameter']
    const options = ['-o', 'tcp.desegment_tcp_streams:FALSE', '-o', 'tcp.check_checksum:FALSE']
    const text = execFileSync('tshark', [...args, ...options], {
      encoding: 'utf8',
      maxBuffer: 2 ** 28,
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    return text
      .split(/^Frame \d+:/m)
      .slice(1)
      .map(seen)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function seen(text: string): SeenMessage {
  const lines = text.split('\n')
  const avps: SeenAvp[] = []
  for (const line of lines) {
    const [, indent = '', name = '', code, length, flags = '', value = ''] = AVP.exec(line) ?? []
    if (code === undefined) continue
    // A group has its AVPs two levels further in.
    const depth = (indent.length - 4) / 8
    avps.push({ depth, name, code: Number(code), length: Number(length), flags, value })
  }
  return { problems: lines.filter((line) => PROBLEM.test(line)), avps }
}

/** A capture file: each message in a segment of its own connection to the port of Diameter. */
function captureOf(messages: readonly Buffer[]): Buffer {
  const head = Buffer.alloc(24)
  head.writeUInt32LE(0xa1b2c3d4, 0)
  head.writeUInt16LE(2, 4)
  head.writeUInt16LE(4, 6)
  head.writeUInt32LE(262_144, 16)
  head.writeUInt32LE(1, 20)
  return Buffer.concat([head, ...messages.map(packetOf)])
}

function packetOf(message: Buffer, index: number): Buffer {
  const ethernet = Buffer.alloc(14)
  ethernet.writeUInt16BE(0x0800, 12)
  const ip = Buffer.from('450000000001000040060000' + '0a000001' + '0a000002', 'hex')
  ip.writeUInt16BE(40 + message.length, 2)
  const tcp = Buffer.from('9c400f1c0000000100000001' + '5018ffff' + '00000000', 'hex')
  tcp.writeUInt16BE(40_000 + index, 0)
  const frame = Buffer.concat([ethernet, ip, tcp, message])
  const record = Buffer.alloc(16)
  record.writeUInt32LE(frame.length, 8)
  record.writeUInt32LE(frame.length, 12)
  return Buffer.concat([record, frame])
}
