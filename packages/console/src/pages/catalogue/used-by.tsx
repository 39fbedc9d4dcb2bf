/** Plans, services and customers that refer to an entity now or later. */
import { useRead } from '../../api/read.ts'
import { link } from '../../frame/routes.ts'
import type { Revision } from '../../parts/revisions.ts'
import { ReadView } from '../../parts/state.tsx'
import { t } from '../../words/words.ts'
import { type Collection, collectionOf, readUsers } from './data.ts'

interface UsedByProps {
  readonly collection: Collection
  readonly revision: Revision
}

export function UsedBy({ collection, revision }: UsedByProps) {
  const reading = useRead(`used by ${revision._id.$id}`, (signal) => {
    return readUsers(collection, revision, signal)
  })
  return (
    <ReadView reading={reading} empty={t('catalogue.unused')}>
      {(all) => (
        <dl class="used-by">
          {all.map(({ collection: name, field, keys, count, more }) => (
            <div key={`${name} ${field}`}>
              <dt>
                {t(more ? 'catalogue.usersMore' : 'catalogue.users', {
                  count,
                  collection: name,
                  field,
                })}
              </dt>
              {keys.map((each) => (
                <dd key={each}>
                  <a href={addressOf(name, each)}>{each}</a>
                </dd>
              ))}
            </div>
          ))}
        </dl>
      )}
    </ReadView>
  )
}

function addressOf(collection: string, key: string): string {
  if (collectionOf(collection) !== null) {
    return link(`catalogue/${collection}/${encodeURIComponent(key)}`)
  }
  return link(`customer/${collection === 'accounts' ? 'aid' : 'sid'}/${key}`)
}
