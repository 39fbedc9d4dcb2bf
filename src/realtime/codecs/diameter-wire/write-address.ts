import { isIPv4, isIPv6 } from 'node:net'
import type { AvpRule } from './avp-rules.ts'

/** Codes of vendors below are of RADIUS, whose addresses have no family. */
const RADIUS_CODES = 256
const RADIUS_3GPP_CODES = 30

/** An address as its AVP has it; null if the text is none. */
export function addressBytes({ code, vendor }: AvpRule, text: string): Buffer | null {
  const isPlain = code < (vendor === 0 ? RADIUS_CODES : RADIUS_3GPP_CODES)
  if (isIPv4(text)) {
    const parts = text.split('.').map(Number)
    return Buffer.from(isPlain ? parts : [0, 1, ...parts])
  }
  if (!isIPv6(text) || text.includes('%')) return null
  const parts = ipv6Parts(text)
  const data = Buffer.alloc(isPlain ? 16 : 18)
  if (!isPlain) data.writeUInt16BE(2, 0)
  for (const [at, part] of parts.entries()) data.writeUInt16BE(part, data.length - 16 + at * 2)
  return data
}

/** Eight numbers; what is left out between `::` is zeros. */
function ipv6Parts(text: string): readonly number[] {
  const [head = '', tail] = text.split('::')
  const front = numbersOf(head)
  if (tail === undefined) return front
  const back = numbersOf(tail)
  return [...front, ...Array<number>(8 - front.length - back.length).fill(0), ...back]
}

function numbersOf(text: string): readonly number[] {
  if (text === '') return []
  return text.split(':').flatMap((part) => {
    if (!part.includes('.')) return [Number.parseInt(part, 16)]
    const [a = 0, b = 0, c = 0, d = 0] = part.split('.').map(Number)
    return [a * 256 + b, c * 256 + d]
  })
}
