/** Categories that are lists: file types and network elements. */
import { checkPeers, nameOfPeer } from '../../catalog/settings/peers/peer-settings.ts'
import type { Config } from '../../config/schema.ts'
import { arrayAt, FieldError, isObject } from '../../domain/fields.ts'
import { fileTypeDefaultsOf } from '../../file-types/defaults.ts'
import { checkedFileType, pathOfFileType } from '../../file-types/installed.ts'
import type { Category } from './category.ts'

export function fileTypesCategory(config: Config): Category {
  const defaults = fileTypeDefaultsOf(config)
  return {
    name: 'file_types',
    about: 'Formats of network elements (docs/FILE-TYPES.md).',
    readRole: 'read',
    memberName: 'file_type',
    check(value) {
      const names = new Set<string>()
      for (const [index, document] of arrayAt(value, 'file_types').entries()) {
        const path = pathOfFileType(document, index)
        const { name } = checkedFileType(document, defaults, path)
        if (names.has(name)) throw new FieldError(`${path}.file_type`, `'${name}' occurs twice`)
        names.add(name)
      }
    },
  }
}

/** Keys are managed by `tollgate peer` only, and their hashes are not disclosed. */
export const PEERS: Category = {
  name: 'peers',
  about: "Network elements that may charge; their keys are made by 'tollgate peer'.",
  readRole: 'read',
  memberName: 'name',
  check: checkPeers,
  view(stored) {
    if (!Array.isArray(stored)) return stored
    return stored.map((peer: unknown) => {
      if (!isObject(peer)) return peer
      const { keys: _, ...others } = peer
      return others
    })
  },
  merge(value, stored) {
    const before: readonly unknown[] = Array.isArray(stored) ? stored : []
    return arrayAt(value, 'peers').map((peer, index) => {
      if (!isObject(peer)) return peer
      if (Object.hasOwn(peer, 'keys')) {
        throw new FieldError(`peers.${index}.keys`, "cannot be set here: use 'tollgate peer'")
      }
      const same = before.find((each) => nameOfPeer(each) === nameOfPeer(peer))
      const keys = isObject(same) ? same['keys'] : undefined
      return keys === undefined ? peer : { ...peer, keys }
    })
  },
}
