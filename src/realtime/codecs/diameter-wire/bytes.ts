/** Big-endian integers without the bounds checks of Buffer's methods; callers have checked them. */

export function uint24At(bytes: Uint8Array, at: number): number {
  return (
    ((bytes[at] as number) << 16) | ((bytes[at + 1] as number) << 8) | (bytes[at + 2] as number)
  )
}

export function uint32At(bytes: Uint8Array, at: number): number {
  return int32At(bytes, at) >>> 0
}

export function int32At(bytes: Uint8Array, at: number): number {
  return ((bytes[at] as number) << 24) | uint24At(bytes, at + 1)
}

export function putUint24(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value >>> 16
  bytes[at + 1] = value >>> 8
  bytes[at + 2] = value
}

export function putUint32(bytes: Uint8Array, at: number, value: number): void {
  bytes[at] = value >>> 24
  putUint24(bytes, at + 1, value)
}
