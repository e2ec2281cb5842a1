# Invented text for runs of `phibal train`, the same on every machine and whatever the manuals say: with another text a
# token's choice between two experts may hang on the order of a sum.
# usage: awk -v seed=S -v words=N -f words.awk
function draw(n) { state = state * 16807 % 2147483647; return state % n }
BEGIN {
  state = seed
  letters = "eeeeeeetttttaaaaooooiiinnnsssrrrhhhddlluucmmfpgwybvkxjqz"
  for (word = 1; word <= words; word++) {
    for (n = 1 + draw(4) + draw(5); n > 0; n--) printf "%s", substr(letters, 1 + draw(length(letters)), 1)
    printf "%s", word % 72 == 0 ? ".\n\n" : word % 12 == 0 ? "\n" : draw(9) ? " " : ", "
  }
}
