import { Page } from '../../shared/ui/Page'
import { Empty } from '../../shared/ui/states'

export default function Overview() {
  return (
    <Page title="Overview">
      <Empty title="This screen is being built" />
    </Page>
  )
}
