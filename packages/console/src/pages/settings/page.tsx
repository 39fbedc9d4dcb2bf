/** Settings: categories with their values, changes and versions. */
import { useRead } from '../../api/read.ts'
import { type Category, readCategories, readSetting, type Setting } from '../../api/settings.ts'
import { link, location } from '../../frame/routes.ts'
import { readSchemas, type Schemas } from '../../parts/document/schemas.ts'
import { announce } from '../../parts/live-region.tsx'
import { documentText, SettingEditor } from '../../parts/setting-editor.tsx'
import { SideNav } from '../../parts/side-nav.tsx'
import { ReadView } from '../../parts/state.tsx'
import { Tabs, tabOf } from '../../parts/tabs.tsx'
import { t } from '../../words/words.ts'
import { History } from './history.tsx'

const TABS = ['value', 'history'] as const

export default function Page() {
  const categories = useRead('categories', readCategories)
  const name = location.value.query['category'] ?? ''
  return (
    <>
      <h1 tabIndex={-1}>{t('page.settings')}</h1>
      <ReadView reading={categories} rows={20}>
        {(all) => (
          <SideNav
            label={t('settings.categories')}
            names={all.map(({ category }) => category)}
            current={name}
            addressOf={(category) => link('settings', { category })}
          >
            <Chosen key={name} name={name} category={all.find((each) => each.category === name)} />
          </SideNav>
        )}
      </ReadView>
    </>
  )
}

interface ChosenProps {
  readonly name: string
  readonly category: Category | undefined
}

function Chosen({ name, category }: ChosenProps) {
  if (category === undefined) {
    return <p class="state">{t(name === '' ? 'settings.choose' : 'settings.unknown', { name })}</p>
  }
  const { about, settable, instead } = category
  return (
    <section aria-labelledby="setting">
      <h2 id="setting">{name}</h2>
      <p>{about.replaceAll('`', '')}</p>
      {settable ? (
        <>
          <Tabs
            label={t('settings.tabs', { name })}
            tabs={TABS.map((tab) => ({ name: tab, title: t(`settings.${tab}`) }))}
            own={['version']}
          />
          {tabOf(TABS) === 'value' ? <Value name={name} /> : <History name={name} />}
        </>
      ) : (
        <>
          <p>{t('settings.readOnly', { instead: instead ?? '' })}</p>
          <Value name={name} isFixed />
        </>
      )}
    </section>
  )
}

function Value({ name, isFixed = false }: { readonly name: string; readonly isFixed?: boolean }) {
  const reading = useRead(`setting ${name}`, async (signal) => {
    const [setting, schemas] = await Promise.all([readSetting(name, { signal }), readSchemas()])
    return { setting, schemas }
  })
  const saved = () => {
    announce(t('settings.saved', { name }))
    reading.reload()
  }
  return (
    <ReadView reading={reading} rows={10}>
      {({ setting, schemas }) => (
        <div class="stack">
          {isFixed && <pre class="id">{documentText(setting.value)}</pre>}
          {!isFixed && name !== 'shared_secret' && (
            <SettingEditor
              key={setting.rev}
              category={name}
              setting={setting}
              described={describedBy(schemas, name)}
              label={t('settings.document', { name })}
              onSaved={saved}
            />
          )}
          {name === 'shared_secret' && (
            <p>
              <a href={link('access', { tab: 'clients' })}>{t('settings.clients')}</a>
            </p>
          )}
          <Effective setting={setting} />
        </div>
      )}
    </ReadView>
  )
}

/** Categories without a schema are edited as JSON. */
function describedBy(schemas: Schemas, name: string) {
  const schema = schemas[`setting.${name}`]
  return schema && { schemas, schema }
}

function Effective({ setting: { effective, rev } }: { readonly setting: Setting }) {
  return (
    <>
      {effective !== undefined && (
        <details>
          <summary>{t('settings.effective')}</summary>
          <pre class="id">{documentText(effective)}</pre>
        </details>
      )}
      <p class="muted">{rev === 0 ? t('settings.nothing') : t('settings.rev', { rev })}</p>
    </>
  )
}
