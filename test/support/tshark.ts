/** Diameter messages as an independent decoder reads them: tshark, where it is installed. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { toolPath } from './tools.ts'

const TSHARK = toolPath('tshark')
/** Tests that need it are skipped by name if it is missing. */
export const hasTshark = TSHARK !== undefined

export interface SharkAvp {
  code: number
  vendor: number
  /** Flags of the AVP. */
  flags: number
  /** Including its header, without padding. */
  length: number
  /** Undefined if tshark does not know it. */
  name: string | undefined
  /** As tshark shows it; the bytes of groups. */
  value: string
  /** Members of a group. */
  avps: SharkAvp[]
}

export interface SharkMessage {
  /** Flags of the header. */
  flags: number
  command: number
  application: number
  hopByHopId: number
  endToEndId: number
  avps: SharkAvp[]
  /** Warnings of tshark: malformed, unknown AVPs, unknown values. */
  problems: string[]
}

const PORT = 3868
const HEAD_BYTES = 54
/** Small enough for the length field of a packet and of its capture. */
const SEGMENT_BYTES = 60_000
const CAPTURED_MAX = 262_144
const ETHERNET = Buffer.from('0200000000020200000000010800', 'hex')
const TIMEOUT_MS = 120_000
const OUTPUT_MAX = 1 << 28
/** PI_WARN of wireshark; errors have higher values. */
const WARNING = 0x600000

/**
 * Decodes messages separately, in order. Rejects if tshark fails, or finds fewer: it does not
 * recognise Diameter in fewer than 36 bytes, or with reserved bits in the header.
 */
export async function tsharkOf(messages: readonly Buffer[]): Promise<SharkMessage[]> {
  const folder = mkdtempSync(join(tmpdir(), 'tg-tshark-'))
  try {
    const file = join(folder, 'messages.pcap')
    writeFileSync(file, captureOf(messages))
    const decoded = messagesIn(JSON.parse(await jsonOf(file)) as Packet[])
    if (decoded.length === messages.length) return decoded
    throw new Error(`tshark sees ${decoded.length} messages of ${messages.length}`)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function jsonOf(file: string): Promise<string> {
  const form = ['-d', `tcp.port==${PORT},diameter`, '-T', 'json', '--no-duplicate-keys']
  return new Promise((resolve, reject) => {
    const options = { timeout: TIMEOUT_MS, maxBuffer: OUTPUT_MAX }
    execFile(TSHARK ?? 'tshark', ['-r', file, ...form], options, (error, stdout) => {
      if (error === null) resolve(stdout)
      else reject(error)
    })
  })
}

/** A capture file (pcap) of one TCP connection in which one side sends all messages. */
export function captureOf(messages: readonly Buffer[]): Buffer {
  const head = Buffer.alloc(24)
  head.writeUInt32LE(0xa1b2c3d4, 0)
  head.writeUInt16LE(2, 4)
  head.writeUInt16LE(4, 6)
  head.writeUInt32LE(CAPTURED_MAX, 16)
  head.writeUInt32LE(1, 20)
  const parts: Buffer[] = [head]
  let sequence = 1
  for (const message of messages) {
    for (let at = 0; at < message.length; at += SEGMENT_BYTES) {
      const segment = message.subarray(at, at + SEGMENT_BYTES)
      parts.push(recordOf(segment.length), packetHead(segment.length, sequence), segment)
      sequence += segment.length
    }
  }
  return Buffer.concat(parts)
}

function recordOf(bytes: number): Buffer {
  const record = Buffer.alloc(16)
  record.writeUInt32LE(HEAD_BYTES + bytes, 8)
  record.writeUInt32LE(HEAD_BYTES + bytes, 12)
  return record
}

/** Ethernet, IPv4 and TCP; checksums are zero. */
function packetHead(bytes: number, sequence: number): Buffer {
  const head = Buffer.alloc(HEAD_BYTES)
  ETHERNET.copy(head)
  const ip = head.subarray(ETHERNET.length)
  ip[0] = 0x45
  ip.writeUInt16BE(40 + bytes, 2)
  ip.set([64, 6], 8)
  ip.set([127, 0, 0, 1], 12)
  ip.set([127, 0, 0, 2], 16)
  const tcp = ip.subarray(20)
  tcp.writeUInt16BE(PORT, 0)
  tcp.writeUInt16BE(50_000, 2)
  tcp.writeUInt32BE(sequence, 4)
  tcp.writeUInt32BE(1, 8)
  tcp.set([0x50, 0x18], 12)
  tcp.writeUInt16BE(0xffff, 14)
  return head
}

interface Tree {
  [key: string]: string | Tree | readonly (string | Tree)[] | undefined
}

interface Packet {
  _source: { layers: Tree }
}

function messagesIn(packets: readonly Packet[]): SharkMessage[] {
  const messages: SharkMessage[] = []
  /** Problems of packets that contain only a part of a message. */
  let problems: string[] = []
  for (const { _source } of packets) {
    problems.push(...problemsIn(_source.layers))
    const tree = _source.layers['diameter'] as Tree | undefined
    if (tree === undefined) continue
    messages.push({
      flags: Number(tree['diameter.flags']),
      command: Number(tree['diameter.cmd.code']),
      application: Number(tree['diameter.applicationId']),
      hopByHopId: Number(tree['diameter.hopbyhopid']),
      endToEndId: Number(tree['diameter.endtoendid']),
      avps: avpsIn(tree),
      problems,
    })
    problems = []
  }
  return messages
}

function avpsIn(tree: Tree): SharkAvp[] {
  return treesOf(tree['diameter.avp_tree']).map((avp) => {
    const field = Object.keys(avp).find(isValue)
    const inner = field === undefined ? undefined : avp[`${field}_tree`]
    return {
      code: Number.parseInt(String(avp['diameter.avp.code']), 10),
      vendor: Number(avp['diameter.avp.vendorId'] ?? 0),
      flags: Number(avp['diameter.avp.flags']),
      length: Number(avp['diameter.avp.len']),
      name: field?.slice('diameter.'.length),
      value: String(avp[field ?? 'diameter.avp.unknown'] ?? ''),
      avps: treesOf(inner).flatMap(avpsIn),
    }
  })
}

/** The key of an AVP's content, among those of its header. */
function isValue(key: string): boolean {
  return key.startsWith('diameter.') && !/^diameter\.(avp|flags)\b/.test(key)
}

function treesOf(value: Tree[string]): Tree[] {
  const list = Array.isArray(value) ? value : [value]
  return list.filter((one): one is Tree => typeof one === 'object')
}

function problemsIn(tree: Tree): string[] {
  return Object.entries(tree).flatMap(([key, value]) => {
    if (key === '_ws.malformed') return ['malformed']
    if (key === '_ws.expert') return treesOf(value).flatMap(expertProblem)
    return treesOf(value).flatMap(problemsIn)
  })
}

function expertProblem(expert: Tree): string[] {
  const isProblem = Number(expert['_ws.expert.severity']) >= WARNING
  return isProblem ? [String(expert['_ws.expert.message'])] : []
}
