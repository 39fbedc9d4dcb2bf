/** Diameter identity of the node. */
import { hostname } from 'node:os'
import type { Config } from '../../config/schema.ts'
import type { WireIdentity } from '../codecs/diameter-wire/protocol.ts'

const NO_NAME_CHARS = /[^a-z0-9.-]/g

/**
 * `diameter.originHost` and `originRealm`; by default the host name of the machine in that realm.
 */
export function identityOf({ diameter }: Pick<Config, 'diameter'>): WireIdentity {
  const { originHost, originRealm } = diameter
  if (originHost !== '') return { originHost, originRealm }
  const name = hostname().toLowerCase().replace(NO_NAME_CHARS, '-')
  return { originHost: name.includes('.') ? name : `${name}.${originRealm}`, originRealm }
}
