/** Versions of a category: who has stored them, how they differ from the present one, restore. */
import { useState } from 'preact/hooks'
import { useRead } from '../../api/read.ts'
import {
  changeSetting,
  readSetting,
  readVersions,
  type Version as Stored,
} from '../../api/settings.ts'
import { linkHere, location, navigateHere } from '../../frame/routes.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { Changes } from '../../parts/changes.tsx'
import { numberColumn, textColumn, timeColumn } from '../../parts/columns.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { differences } from '../../parts/differences.ts'
import { List } from '../../parts/list.tsx'
import { announce } from '../../parts/live-region.tsx'
import { ReadView } from '../../parts/state.tsx'
import { t } from '../../words/words.ts'

export function History({ name }: { readonly name: string }) {
  const reading = useRead(`versions ${name}`, (signal) => readVersions(name, signal))
  const versions = reading.state.value.data ?? []
  const chosen = Number(location.value.query['version'] ?? Number.NaN)
  return (
    <div class="stack">
      <List
        reading={reading}
        height={6}
        empty={t('settings.noVersions')}
        caption={t('settings.history')}
        columns={[
          numberColumn<Stored>('settings.version', ({ rev }) => (
            <a href={linkHere({ version: String(rev) })}>{rev}</a>
          )),
          timeColumn<Stored>('settings.changed', ({ changed }) => changed, 'second'),
          textColumn<Stored>('settings.author', ({ changed_by: by }) => by),
        ]}
        keyOf={({ rev }) => String(rev)}
        isCurrent={({ rev }) => rev === chosen}
        onOpen={({ rev }) => navigateHere({ version: String(rev) })}
      />
      {versions.some(({ rev }) => rev === chosen) && (
        <Version
          key={chosen}
          name={name}
          rev={chosen}
          present={versions[0]?.rev ?? 0}
          onRestored={reading.reload}
        />
      )}
    </div>
  )
}

interface VersionProps {
  readonly name: string
  readonly rev: number
  readonly present: number
  readonly onRestored: () => void
}

function Version({ name, rev, present, onRestored }: VersionProps) {
  const [isDialogOpen, setDialogOpen] = useState(false)
  const reading = useRead(`version ${name} ${rev} ${present}`, async (signal) => {
    const [then, now] = await Promise.all([
      readSetting(name, { rev, signal }),
      readSetting(name, { signal }),
    ])
    return { then, changes: differences(then.value, now.value) }
  })
  const restore = async () => {
    await changeSetting({ action: 'restore', category: name, rev })
    announce(t('settings.restored', { name, rev }))
    onRestored()
  }
  const words = { name, rev, present }
  return (
    <section class="stack" aria-labelledby="version">
      <h3 id="version">{t('settings.compared', words)}</h3>
      <ReadView reading={reading} rows={4}>
        {({ changes }) =>
          changes.length === 0 ? (
            <p class="state">{t('settings.same')}</p>
          ) : (
            <Changes caption={t('settings.compared', words)} changes={changes} />
          )
        }
      </ReadView>
      {rev !== present && (
        <div class="buttons">
          <ActionButton action="settings/set" kind="danger" onAct={() => setDialogOpen(true)}>
            {t('settings.restore', words)}
          </ActionButton>
        </div>
      )}
      {isDialogOpen && (
        <Confirm
          title={t('settings.restoreTitle', words)}
          about={t('settings.restoreAbout', words)}
          act={t('settings.restore', words)}
          action="settings/set"
          onAct={restore}
          onClose={() => setDialogOpen(false)}
        />
      )}
    </section>
  )
}
