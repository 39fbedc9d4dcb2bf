/** Merges two entries of a message for the same service. */
import type { ServicePart, ServiceRequest } from '../domain/charge-request.ts'

type Volumes = Pick<ServiceRequest, 'requested' | 'used' | 'usedBefore'>

/**
 * Adds up the used units; the requested units are the larger of both, since one grant answers both
 * entries.
 */
export function mergedService(one: ServiceRequest, other: ServiceRequest): ServiceRequest {
  const volumes = one.isTotal ? mergedTotals(one, other) : mergedVolumes(one, other)
  const calledNumber = one.calledNumber === '' ? other.calledNumber : one.calledNumber
  const checksCredit = one.checksCredit || other.checksCredit
  const parts = mergedParts(one, other)
  const merged: ServiceRequest = { ...one, ...volumes, calledNumber, checksCredit, parts }
  if (one.priceMicros !== undefined) {
    merged.priceMicros = one.priceMicros + (other.priceMicros ?? 0)
  }
  return merged
}

function mergedTotals(one: Volumes, other: Volumes): Volumes {
  const { requested } = mergedVolumes(one, other)
  return { requested, used: Math.max(one.used, other.used), usedBefore: -1 }
}

function mergedVolumes(one: Volumes, other: Volumes): Volumes {
  const isUntold = [one, other].some(({ used, usedBefore }) => used > 0 && usedBefore < 0)
  const before = Math.max(0, one.usedBefore) + Math.max(0, other.usedBefore)
  const used = Math.min(one.used + other.used, Number.MAX_SAFE_INTEGER)
  return {
    requested: Math.max(one.requested, other.requested),
    used,
    usedBefore: isUntold || used === 0 ? -1 : before,
  }
}

function mergedParts(one: ServiceRequest, other: ServiceRequest): ServiceRequest['parts'] {
  if (one.parts === null || other.parts === null) return one.parts ?? other.parts
  const parts: ServicePart[] = [...one.parts]
  for (const part of other.parts) {
    const at = parts.findIndex(({ usaget }) => usaget === part.usaget)
    const same = parts[at]
    if (same === undefined) parts.push(part)
    else parts[at] = { ...same, ...mergedVolumes(same, part) }
  }
  return parts
}
