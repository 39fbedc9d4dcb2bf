/** Type names of the package; texts and host addresses are `OctetString`, too. */
export type AvpType =
  | 'OctetString'
  | 'Unsigned32'
  | 'Unsigned64'
  | 'Integer32'
  | 'Integer64'
  | 'Time'
  | 'IPAddress'
  | 'Grouped'

/** `Binary`: an `OctetString` of binary data, even if its bytes are printable. */
export type AvpKind = AvpType | 'Binary'

/** An AVP definition of the package or the supplement. */
export interface AvpEntry {
  code: number
  name: string
  vendorId: number
  type?: AvpType
  isBinary?: boolean
  flags?: { mandatory: boolean }
  enums?: readonly { code: number; name: string }[]
}

export function entryOf(
  code: number,
  name: string,
  vendorId: number,
  kind: AvpKind,
  mandatory: boolean,
): AvpEntry {
  const isBinary = kind === 'Binary'
  const type = isBinary ? 'OctetString' : kind
  return { code, name, vendorId, type, isBinary, flags: { mandatory } }
}
