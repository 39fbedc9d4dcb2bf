/** Who uses an entity: plans, services, customers that refer to it now or later. */
import { useRead } from '../../api/read.ts'
import type { Fields } from '../../api/records.ts'
import { link } from '../../frame/routes.ts'
import { textIn } from '../../parts/differences.ts'
import type { Revision } from '../../parts/revisions.ts'
import { ReadView } from '../../parts/state.tsx'
import { t } from '../../words/words.ts'
import { type Collection, collectionOf, readUsers, type Use } from './data.ts'

interface UsedByProps {
  readonly collection: Collection
  readonly revision: Revision
}

export function UsedBy({ collection, revision }: UsedByProps) {
  const reading = useRead(`used by ${revision._id.$id}`, (signal) => {
    return readUsers(collection, revision, signal)
  })
  return (
    <ReadView
      reading={reading}
      isEmpty={(all) => all.every(({ rows }) => rows.length === 0)}
      empty={t('catalogue.unused')}
    >
      {(all) => (
        <dl class="used-by">
          {all
            .filter(({ rows }) => rows.length > 0)
            .map(({ use, rows, hasMore }) => (
              <div key={`${use.collection} ${use.field}`}>
                <dt>
                  {t(hasMore ? 'catalogue.usersMore' : 'catalogue.users', {
                    count: rows.length,
                    collection: use.collection,
                    field: use.field,
                  })}
                </dt>
                {rows.map((row, index) => (
                  <dd key={index}>
                    <UserLink use={use} row={row} />
                  </dd>
                ))}
              </div>
            ))}
        </dl>
      )}
    </ReadView>
  )
}

function UserLink({ use: { collection }, row }: { readonly use: Use; readonly row: Fields }) {
  const key = collectionOf(collection)?.key
  if (key !== undefined) {
    const name = textIn(row, key)
    return <a href={link(`catalogue/${collection}/${encodeURIComponent(name)}`)}>{name}</a>
  }
  const by = collection === 'accounts' ? 'aid' : 'sid'
  const id = textIn(row, by)
  return <a href={link(`customer/${by}/${id}`)}>{id}</a>
}
