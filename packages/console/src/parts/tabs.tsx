/** Tabs of a page; the chosen one is in the address. */
import './tabs.css'
import { linkHere, location, setQuery } from '../frame/routes.ts'

interface TabsProps<Name extends string> {
  readonly label: string
  /** Values of the parameter, and their titles. */
  readonly tabs: readonly { readonly name: Name; readonly title: string }[]
  /** State of the page that belongs to a tab, and is removed with it. */
  readonly own?: readonly string[]
}

/** The chosen tab; the first one unless the address names another. */
export function tabOf<Name extends string>(names: readonly Name[]): Name {
  const chosen = location.value.query['tab']
  return names.find((name) => name === chosen) ?? (names[0] as Name)
}

export function Tabs<Name extends string>({ label, tabs, own = ['after'] }: TabsProps<Name>) {
  const current = tabOf(tabs.map(({ name }) => name))
  const changesFor = (tab: string) => ({
    ...Object.fromEntries(own.map((name) => [name, null])),
    tab,
  })
  const choose = (event: MouseEvent, tab: string) => {
    // In its own tab of the browser a link opens as usual.
    if (event.ctrlKey || event.metaKey || event.shiftKey) return
    event.preventDefault()
    setQuery(changesFor(tab))
  }
  return (
    <nav class="tabs" aria-label={label}>
      {tabs.map(({ name, title }) => (
        <a
          key={name}
          href={linkHere(changesFor(name))}
          aria-current={name === current ? 'true' : undefined}
          onClick={(event) => choose(event, name)}
        >
          {title}
        </a>
      ))}
    </nav>
  )
}
