import type { ChargeRequest, ServiceRequest } from './charge-request.ts'

/**
 * 53 bits over what a request says, to tell a retransmission from a reused request number. An event
 * time that the node itself supplied is left out, since it differs at each arrival. A stamp stands
 * for all but the number, the subscriber and the kind.
 */
export function digestOf(request: ChargeRequest): number {
  let hash: Hash = { high: 0xdeadbeef, low: 0x41c6ce57 }
  hash = mix(hash, request.kind)
  hash = mix(hash, `${request.subscriberKey}\u0000${request.subscriberValue}\u0000`)
  const flags = `${request.pretend ? 'p' : ''}${request.refund ? 'r' : ''}`
  hash = mix(hash, `${request.requestNumber}${flags}`)
  if (request.stamp !== '') {
    const stamped = mix(hash, `\u0003${request.stamp}`)
    return joined(stamped)
  }
  if (request.eventTimeGiven) hash = mix(hash, `@${request.eventTimeMs}`)
  for (const service of request.services) {
    const { ratingGroup, usaget, requested, calledNumber, rateKey } = service
    const volumes = `${requested},${usedOf(service)}`
    const what = `${ratingGroup},${usaget},${volumes},${calledNumber}${rateKey}`
    hash = mixFields(mix(hash, `\u0001${what}`), service.fields)
  }
  return joined(mixFields(hash, request.fields))
}

function usedOf({ used, usedBefore }: ServiceRequest): string {
  return usedBefore < 0 ? String(used) : `${used}<${usedBefore}`
}

function mixFields(before: Hash, fields: ChargeRequest['fields']): Hash {
  let hash = before
  for (const [name, value] of Object.entries(fields ?? {})) {
    hash = mix(hash, `\u0002${name}=${value}`)
  }
  return hash
}

function joined({ high, low }: Hash): number {
  return 4294967296 * (2097151 & (finish(high) ^ low)) + (finish(low) >>> 0)
}

interface Hash {
  high: number
  low: number
}

function mix(hash: Hash, text: string): Hash {
  let { high, low } = hash
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index)
    high = Math.imul(high ^ code, 2654435761)
    low = Math.imul(low ^ code, 1597334677)
  }
  return { high, low }
}

function finish(value: number): number {
  let mixed = Math.imul(value ^ (value >>> 16), 2246822507)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 3266489909)
  return mixed ^ (mixed >>> 16)
}
