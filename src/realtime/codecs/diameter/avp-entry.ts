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

/** An AVP definition of the package or the supplement. */
export interface AvpEntry {
  code: number
  name: string
  vendorId: number
  type?: AvpType
  flags?: { mandatory: boolean }
  enums?: readonly { code: number; name: string }[]
}
