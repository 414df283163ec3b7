fn main() {}
fn beta() {}
