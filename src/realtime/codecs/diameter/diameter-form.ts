/** Layout of a Diameter message as JSON; its answer has the same layout. */

/** Layout of AVPs in a message and its groups. */
export type AvpLayout =
  /** `{"Session-Id": "…"}`, with lists for repeated AVPs. */
  | 'object'
  /** `[["Session-Id", "…"]]`, as in the package `diameter`. */
  | 'pairs'
  /** `[{"code": 263, "value": "…"}]` */
  | 'entries'

/** Names of the members of an entry. */
export interface EntryKeys {
  /** `code`, `name` or `avp`. */
  key: string
  value: string
  /** Name of the value of a grouped AVP. */
  group: string
  /** Empty if the vendor is only given for AVPs that have one. */
  vendor: string
}

/** The object that contains the AVPs. */
export interface MessageEnvelope {
  record: Readonly<Record<string, unknown>>
  /** Name of the member with the AVPs. */
  bodyKey: string
}

export interface DiameterForm {
  layout: AvpLayout
  /** Whether AVPs are identified by code instead of name. */
  isByCode: boolean
  /** Whether codes in pairs are numbers. */
  hasNumberCodes: boolean
  /** Whether enumerated values are given by name. */
  hasNamedValues: boolean
  entryKeys: EntryKeys
  envelope: MessageEnvelope | null
  /** Values that answers repeat, even to a refused message: `Session-Id` and others, if known. */
  echo: readonly (readonly [name: string, value: string | number])[]
}

/** Default layout, for a message that could not be read. */
export function plainForm(): DiameterForm {
  return {
    layout: 'object',
    isByCode: false,
    hasNumberCodes: false,
    hasNamedValues: false,
    entryKeys: { key: 'name', value: 'value', group: 'value', vendor: '' },
    envelope: null,
    echo: [],
  }
}
